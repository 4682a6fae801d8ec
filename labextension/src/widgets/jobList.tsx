/** The list of jobs: a grid for keyboard and screen reader, of which only the rows in sight are drawn. */

import * as React from 'react';

import { CommandIDs } from '../ids';
import type { ITexts } from '../model/format';
import type { JobsModel } from '../model/jobs';
import { type Row, rows, windowOf } from '../model/list';
import type { SidebarModel } from '../model/sidebar';
import { isHolding, type Section } from '../model/states';
import { useLab, useNow } from './context';
import { JobRow } from './jobRow';

/** What a row takes before it was measured. */
const GUESS = { head: 27, job: 47 };

export interface IJobListProps {
  model: JobsModel;
  sidebar: SidebarModel;
}

const title = (section: Section, texts: ITexts): string =>
  ({
    running: texts.__('Running'),
    waiting: texts.__('Waiting'),
    held: texts.__('Held'),
    ended: texts.__('Ended')
  })[section];

export function JobList(props: IJobListProps): React.JSX.Element {
  const { texts, execute } = useLab();
  const { model, sidebar } = props;
  const { view } = model;
  const isAnyRunning = React.useMemo(
    () => [...view.jobs.values()].some(isHolding),
    [view.jobs]
  );
  const now = useNow(isAnyRunning);
  // Rows that stand still are drawn anew only when something became of the jobs.
  const still = React.useMemo(() => new Date(), [view.jobs]); // eslint-disable-line react-hooks/exhaustive-deps
  const { text, isMineOnly, folded } = sidebar;
  const found = React.useMemo(
    () => rows(view.jobs.values(), { text, isMineOnly, folded, me: view.me }),
    [view.jobs, view.me, text, isMineOnly, folded]
  );
  const order = React.useMemo(
    () => found.flatMap(row => (row.kind === 'job' ? [row.job.id] : [])),
    [found]
  );
  const scroller = React.useRef<HTMLDivElement>(null);
  const [sight, setSight] = React.useState({ top: 0, height: 600 });
  const measured = React.useRef(new Map<string, number>());
  const [, redraw] = React.useReducer((n: number) => n + 1, 0);

  const look = React.useCallback(() => {
    const node = scroller.current;
    if (node !== null) {
      setSight({ top: node.scrollTop, height: node.clientHeight });
    }
  }, []);
  React.useLayoutEffect(() => {
    look();
    const node = scroller.current;
    if (node === null) {
      return;
    }
    const observer = new ResizeObserver(look);
    observer.observe(node);
    return () => {
      observer.disconnect();
    };
  }, [look]);

  const onMeasure = React.useCallback((key: string, height: number) => {
    if (height > 0 && measured.current.get(key) !== height) {
      measured.current.set(key, height);
      redraw();
    }
  }, []);

  const heights = found.map(
    row => measured.current.get(row.key) ?? GUESS[row.kind]
  );
  const window_ = windowOf(heights, sight.top, sight.height);
  const current =
    sidebar.current !== null && order.includes(sidebar.current)
      ? sidebar.current
      : order[0];

  const onPointer = React.useCallback(
    (event: React.MouseEvent, job: number) => {
      if (event.type === 'contextmenu') {
        if (!sidebar.isChosen(job)) {
          sidebar.choose(job);
        }
      } else if (event.shiftKey) {
        sidebar.chooseTo(job, order);
      } else if (event.ctrlKey || event.metaKey) {
        sidebar.toggleChoice(job);
      } else {
        sidebar.choose(job);
      }
    },
    [sidebar, order]
  );

  const goTo = (job: number | undefined, isExtending: boolean): void => {
    if (job === undefined) {
      return;
    }
    if (isExtending) {
      sidebar.chooseTo(job, order);
    } else {
      sidebar.choose(job);
    }
    reveal(scroller.current, found, heights, job);
    // The row may only be drawn by the next frame.
    requestAnimationFrame(() => {
      scroller.current
        ?.querySelector<HTMLElement>(`[data-jupysched-job="${job}"]`)
        ?.focus();
    });
  };

  const onKeyDown = (event: React.KeyboardEvent): void => {
    const isRow =
      (event.target as HTMLElement).dataset['jupyschedJob'] !== undefined;
    if (!isRow || current === undefined) {
      return;
    }
    const at = order.indexOf(current);
    const page = Math.max(1, Math.floor(sight.height / GUESS.job) - 1);
    const steps: Record<string, number> = {
      ArrowDown: at + 1,
      ArrowUp: at - 1,
      PageDown: Math.min(order.length - 1, at + page),
      PageUp: Math.max(0, at - page),
      Home: 0,
      End: order.length - 1
    };
    const step = steps[event.key];
    if (step !== undefined) {
      goTo(order[step], event.shiftKey);
    } else if (event.key === ' ') {
      sidebar.toggleChoice(current);
    } else if (event.key === 'Enter') {
      execute(CommandIDs.showDetail, { jobs: [current] });
    } else if (event.key === 'Delete') {
      execute(CommandIDs.cancel);
    } else if (event.key === 'Escape') {
      sidebar.clear();
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  };

  return (
    <div className="jp-jupysched-scroller" ref={scroller} onScroll={look}>
      <div
        role="grid"
        aria-label={texts.__('GPU jobs')}
        aria-multiselectable="true"
        aria-rowcount={found.length}
        className="jp-jupysched-list"
        onKeyDown={onKeyDown}
        style={{ height: window_.total, paddingTop: window_.above }}
      >
        {found.slice(window_.start, window_.end).map((row, i) =>
          row.kind === 'head' ? (
            <div
              key={row.key}
              role="row"
              aria-rowindex={window_.start + i + 1}
              className="jp-jupysched-head"
            >
              <div role="gridcell">
                <button
                  type="button"
                  aria-expanded={!row.isFolded}
                  onClick={() => {
                    sidebar.toggle(row.section);
                  }}
                >
                  <span aria-hidden="true" className="jp-jupysched-fold">
                    {row.isFolded ? '▸' : '▾'}
                  </span>
                  {title(row.section, texts)} {row.count}
                </button>
              </div>
            </div>
          ) : (
            <JobRow
              key={row.key}
              job={row.job}
              me={view.me}
              loss={view.losses.get(row.job.id)}
              now={isHolding(row.job) ? now : still}
              isChosen={sidebar.isChosen(row.job.id)}
              isCurrent={row.job.id === current}
              isOnly={
                sidebar.isChosen(row.job.id) && sidebar.chosen.length === 1
              }
              index={window_.start + i}
              onPointer={onPointer}
              onMeasure={onMeasure}
            />
          )
        )}
      </div>
      {view.older > 0 && !folded.has('ended') && (
        <button
          type="button"
          className="jp-jupysched-button jp-jupysched-older"
          onClick={() => {
            void model.bringOlder();
          }}
        >
          {texts._n('Show %1 older job', 'Show older jobs (%1)', view.older)}
        </button>
      )}
      {found.length === 0 && view.jobs.size > 0 && (
        <p className="jp-jupysched-note" role="status">
          {text !== ''
            ? texts.__('No job matches “%1”.', text)
            : texts.__(
                'You have no job in the queue; others have %1.',
                view.jobs.size
              )}
        </p>
      )}
    </div>
  );
}

/** Scroll so that this job's row is in sight. */
function reveal(
  node: HTMLElement | null,
  found: readonly Row[],
  heights: readonly number[],
  job: number
): void {
  if (node === null) {
    return;
  }
  const at = found.findIndex(row => row.kind === 'job' && row.job.id === job);
  const top = heights.slice(0, at).reduce((sum, height) => sum + height, 0);
  const bottom = top + (heights[at] ?? GUESS.job);
  if (top < node.scrollTop) {
    node.scrollTop = top;
  } else if (bottom > node.scrollTop + node.clientHeight) {
    node.scrollTop = bottom - node.clientHeight;
  }
}
