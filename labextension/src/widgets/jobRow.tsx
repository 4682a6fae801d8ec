/** One job in the list: state, name, times, one sentence; and what can be done with it when it is chosen. */

import * as React from 'react';

import type { JobRecord, LossRecord } from '../api/schema';
import { CommandIDs } from '../ids';
import { stateWord, story, timing } from '../model/format';
import { hasEnded, isPossible } from '../model/states';
import { tidy } from '../model/text';
import { useLab } from './context';
import { Sparkline } from './sparkline';

/** The mark of a state: a shape for each, so that colour is never alone. */
export const Mark = (props: { state: string }): React.JSX.Element => (
  <span
    className={`jp-jupysched-mark jp-mod-${props.state}`}
    aria-hidden="true"
  />
);

export interface IJobRowProps {
  job: JobRecord;
  me: string;
  loss: LossRecord | undefined;
  now: Date;
  isChosen: boolean;
  isCurrent: boolean;
  isOnly: boolean;
  index: number;
  onPointer: (event: React.MouseEvent, job: number) => void;
  onMeasure: (key: string, height: number) => void;
}

export const JobRow = React.memo(function JobRow(
  props: IJobRowProps
): React.JSX.Element {
  const { texts } = useLab();
  const { job, loss, now, onMeasure } = props;
  const node = React.useRef<HTMLDivElement>(null);
  React.useLayoutEffect(() => {
    if (node.current !== null) {
      onMeasure(String(job.id), node.current.offsetHeight);
    }
  });
  const name = tidy(job.name, 80);
  const word = stateWord(job, texts);
  const said = story(job, loss, texts);
  return (
    <div
      ref={node}
      className={`jp-jupysched-row jp-mod-${job.state} ${props.isChosen ? 'jp-mod-chosen' : ''}`}
      role="row"
      aria-rowindex={props.index + 1}
      aria-selected={props.isChosen}
      tabIndex={props.isCurrent ? 0 : -1}
      data-jupysched-job={job.id}
      onMouseDown={event => {
        if (event.shiftKey) {
          event.preventDefault(); // jobs are chosen, not text
        }
      }}
      onClick={event => {
        props.onPointer(event, job.id);
      }}
      onContextMenu={event => {
        props.onPointer(event, job.id);
      }}
    >
      <div role="gridcell" className="jp-jupysched-row-grid">
        <Mark state={job.state} />
        <span className="jp-jupysched-row-name" title={tidy(job.name, 4000)}>
          <bdi>{name}</bdi>
          {job.user !== props.me && (
            <bdi className="jp-jupysched-soft">{tidy(job.user, 40)}</bdi>
          )}
          {job.priority !== 'normal' && (
            <span className="jp-jupysched-pill">
              {job.priority === 'high' ? texts.__('high') : texts.__('low')}
            </span>
          )}
        </span>
        <span className="jp-jupysched-row-time">
          <span className="jp-jupysched-unseen">{word}. </span>
          {timing(job, now, texts) || word}
        </span>
        <span className="jp-jupysched-row-story">
          <bdi>{said}</bdi>
          {loss !== undefined && (
            <Sparkline values={loss.spark} width={56} height={14} />
          )}
        </span>
        {props.isOnly && <Actions job={job} hasLoss={loss !== undefined} />}
      </div>
    </div>
  );
});

const Actions = (props: {
  job: JobRecord;
  hasLoss: boolean;
}): React.JSX.Element => {
  const { texts, execute } = useLab();
  const { job } = props;
  const button = (
    label: string,
    command: string,
    isShown: boolean
  ): React.JSX.Element | null =>
    isShown ? (
      <button
        key={command}
        type="button"
        className="jp-jupysched-button"
        onClick={event => {
          event.stopPropagation();
          execute(command, { jobs: [job.id] });
        }}
      >
        {label}
      </button>
    ) : null;
  const isOwn = job.mine;
  return (
    <span className="jp-jupysched-actions">
      {button(texts.__('Cancel'), CommandIDs.cancel, isPossible('cancel', job))}
      {button(texts.__('Hold'), CommandIDs.hold, isPossible('hold', job))}
      {button(
        texts.__('Release'),
        CommandIDs.release,
        isPossible('release', job)
      )}
      {button(
        texts.__('To the front'),
        CommandIDs.front,
        isPossible('front', job)
      )}
      {button(
        texts.__('Queue again'),
        CommandIDs.requeue,
        hasEnded(job) && isPossible('requeue', job)
      )}
      {button(texts.__('Log'), CommandIDs.showLog, isOwn && job.attempt > 0)}
      {button(texts.__('Loss'), CommandIDs.openLoss, isOwn && props.hasLoss)}
      {button(texts.__('Details'), CommandIDs.showDetail, isOwn)}
      {button(
        texts.__('Go to cell'),
        CommandIDs.goToCell,
        isOwn && job.origin['cell_id'] !== undefined
      )}
    </span>
  );
};
