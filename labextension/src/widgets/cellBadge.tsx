/** The mark at a cell that was queued: its job's state, place and time. Opens the job. */

import { ReactWidget, UseSignal } from '@jupyterlab/ui-components';
import * as React from 'react';

import { CommandIDs } from '../ids';
import { stateWord, timing } from '../model/format';
import type { JobsModel } from '../model/jobs';
import { isHolding } from '../model/states';
import { type ILab, LabProvider, useLab, useNow } from './context';
import { Mark } from './jobRow';

export class CellBadge extends ReactWidget {
  constructor(
    private readonly _options: { model: JobsModel; lab: ILab; job: number }
  ) {
    super();
    this.addClass('jp-jupysched-badge-host');
  }

  get job(): number {
    return this._options.job;
  }

  protected override render(): React.JSX.Element {
    const { model, lab, job } = this._options;
    return (
      <LabProvider value={lab}>
        <UseSignal signal={model.changed}>
          {() => <Badge model={model} id={job} />}
        </UseSignal>
      </LabProvider>
    );
  }
}

function Badge(props: {
  model: JobsModel;
  id: number;
}): React.JSX.Element | null {
  const { texts, execute } = useLab();
  const job = props.model.job(props.id);
  const now = useNow(job !== undefined && isHolding(job));
  if (job === undefined) {
    return null;
  }
  const word = stateWord(job, texts);
  const time = job.state === 'pending' ? '' : timing(job, now, texts);
  return (
    <button
      type="button"
      className={`jp-jupysched-badge jp-mod-${job.state}`}
      title={job.why || word}
      aria-label={texts.__(
        'GPU job %1: %2. Show it.',
        job.id,
        [word, time].filter(Boolean).join(', ')
      )}
      onClick={() => {
        execute(CommandIDs.showDetail, { jobs: [job.id] });
      }}
    >
      <Mark state={job.state} />
      {[word, time].filter(Boolean).join(' · ')}
    </button>
  );
}
