/** The output of a job as text: live, searchable, in the colours of a terminal. */

import * as React from 'react';

import type { JobRecord } from '../api/schema';
import type { JobsModel } from '../model/jobs';
import { type ILogLine, Log } from '../model/log';
import { sentence } from '../model/jobs';
import { useLab } from './context';

const LOOK_MS = 1000;
/** Lines drawn in one block; the browser skips blocks that are out of sight. */
const BLOCK = 200;

export function LogView(props: {
  model: JobsModel;
  job: JobRecord;
  attempt: number;
}): React.JSX.Element {
  const { texts } = useLab();
  const { model, job, attempt } = props;
  const { log, trouble, version } = useLog(model, job.id, attempt);
  const [search, setSearch] = React.useState('');
  const [isFollowing, setFollowing] = React.useState(true);
  const [at, setAt] = React.useState(0);
  const node = React.useRef<HTMLDivElement>(null);
  const needle = search.toLowerCase();
  const hits =
    needle === ''
      ? []
      : log.lines.filter(line => line.text.toLowerCase().includes(needle));
  const hit = hits[Math.min(at, hits.length - 1)];

  React.useLayoutEffect(() => {
    if (isFollowing && needle === '' && node.current !== null) {
      node.current.scrollTop = node.current.scrollHeight;
    }
  }, [version, isFollowing, needle]);
  React.useLayoutEffect(() => {
    if (hit !== undefined) {
      node.current
        ?.querySelector(`[data-line="${hit.number}"]`)
        ?.scrollIntoView({ block: 'center' });
    }
  }, [hit]);

  const blocks: ILogLine[][] = [];
  for (let i = 0; i < log.lines.length; i += BLOCK) {
    blocks.push(log.lines.slice(i, i + BLOCK));
  }
  const step = (by: number): void => {
    setAt(
      hits.length === 0
        ? 0
        : (Math.min(at, hits.length - 1) + by + hits.length) % hits.length
    );
  };
  return (
    <div className="jp-jupysched-log">
      <div className="jp-jupysched-filter" role="search">
        <input
          type="search"
          className="jp-jupysched-input"
          placeholder={texts.__('Search the log')}
          aria-label={texts.__('Search the log')}
          value={search}
          onChange={event => {
            setSearch(event.target.value);
            setAt(0);
          }}
          onKeyDown={event => {
            if (event.key === 'Enter') {
              step(event.shiftKey ? -1 : 1);
            }
          }}
        />
        <span className="jp-jupysched-soft" role="status">
          {needle === ''
            ? texts._n('%1 line', '%1 lines', log.lines.length + log.dropped)
            : hits.length === 0
              ? texts.__('not found')
              : texts.__(
                  '%1 of %2',
                  Math.min(at, hits.length - 1) + 1,
                  hits.length
                )}
        </span>
        <button
          type="button"
          className="jp-jupysched-button"
          aria-pressed={isFollowing}
          onClick={() => {
            setFollowing(!isFollowing);
          }}
        >
          {texts.__('Follow the end')}
        </button>
      </div>
      {trouble !== '' && (
        <div className="jp-jupysched-trouble" role="alert">
          {trouble}
        </div>
      )}
      <div
        className="jp-jupysched-log-text"
        ref={node}
        tabIndex={0}
        role="log"
        aria-live="off"
        aria-label={texts.__('Log of job %1', job.id)}
        onWheel={event => {
          if (event.deltaY < 0) {
            setFollowing(false);
          }
        }}
      >
        {log.dropped > 0 && (
          <p className="jp-jupysched-soft">
            {texts.__(
              '%1 earlier lines are not shown here; %2 has them.',
              log.dropped,
              `%gpujob logs ${job.id}`
            )}
          </p>
        )}
        {blocks.map(block => (
          <Block
            key={block[0]?.number}
            lines={block}
            count={block.length}
            needle={needle}
            hit={hit?.number ?? -1}
          />
        ))}
        {log.open !== '' && (
          <div className="jp-jupysched-log-line">{log.open}</div>
        )}
        {log.lines.length === 0 && log.open === '' && (
          <p className="jp-jupysched-soft">
            {log.hasEnded
              ? texts.__('It printed nothing.')
              : texts.__('Nothing yet.')}
          </p>
        )}
      </div>
    </div>
  );
}

interface IBlockProps {
  lines: readonly ILogLine[];
  /** the last block grows: its length is part of what it is */
  count: number;
  needle: string;
  hit: number;
}

const Block = React.memo(
  function Block(props: IBlockProps): React.JSX.Element {
    return (
      <div className="jp-jupysched-log-block">
        {props.lines.map(line => (
          <div
            key={line.number}
            data-line={line.number}
            className={`jp-jupysched-log-line ${line.number === props.hit ? 'jp-mod-hit' : ''}`}
          >
            {line.runs.map((run, i) => (
              <span key={i} className={run.classes}>
                <Marked text={run.text} needle={props.needle} />
              </span>
            ))}
          </div>
        ))}
      </div>
    );
  },
  (a, b) =>
    a.lines[0] === b.lines[0] &&
    a.count === b.count &&
    a.needle === b.needle &&
    a.hit === b.hit
);

/** Text with what is searched for marked. */
function Marked(props: { text: string; needle: string }): React.JSX.Element {
  const { text, needle } = props;
  if (needle === '') {
    return <>{text}</>;
  }
  const low = text.toLowerCase();
  const parts: React.ReactNode[] = [];
  let from = 0;
  for (let at = low.indexOf(needle); at >= 0; at = low.indexOf(needle, from)) {
    parts.push(
      text.slice(from, at),
      <mark key={at}>{text.slice(at, at + needle.length)}</mark>
    );
    from = at + needle.length;
  }
  return (
    <>
      {parts}
      {text.slice(from)}
    </>
  );
}

/** The log as it grows. */
function useLog(
  model: JobsModel,
  job: number,
  attempt: number
): { log: Log; trouble: string; version: number } {
  const [version, grown] = React.useReducer((n: number) => n + 1, 0);
  const [trouble, setTrouble] = React.useState('');
  // Another attempt is another view: its key says so.
  const [log] = React.useState(() => new Log());
  React.useEffect(() => {
    let isOver = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = async (): Promise<void> => {
      let pause = LOOK_MS;
      try {
        const piece = await model.log(job, attempt, log.end);
        const isNew = piece.end > log.end || piece.ended !== log.hasEnded;
        log.take(piece);
        setTrouble('');
        if (isNew) {
          grown();
          pause = 0;
        }
      } catch (reason) {
        setTrouble(sentence(reason));
        pause = 3 * LOOK_MS;
      }
      if (!isOver && !log.hasEnded) {
        timer = setTimeout(() => void look(), pause);
      }
    };
    void look();
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [model, job, attempt, log]);
  return { log, trouble, version };
}
