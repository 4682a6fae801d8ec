/** The card under a cell: live while the job is known to this server, else as it was saved. */

import type { IRenderMime } from '@jupyterlab/rendermime-interfaces';
import { ReactWidget, UseSignal } from '@jupyterlab/ui-components';
import * as React from 'react';

import type { GpuRecord, JobRecord, LossRecord } from '../api/schema';
import { CommandIDs, JOB_MIME } from '../ids';
import { isSameJob } from '../model/fold';
import { figure, lossWords } from '../model/format';
import type { JobsModel } from '../model/jobs';
import { type ISaved, savedJob, savedLoss } from '../model/saved';
import { isHolding, isPossible } from '../model/states';
import { tidy } from '../model/text';
import { Beside, gpuLine, Pill } from './cardWords';
import { type ILab, LabProvider, useLab, useNow } from './context';
import { Mark } from './jobRow';
import { Sparkline } from './sparkline';

export class JobCard extends ReactWidget implements IRenderMime.IRenderer {
  constructor(private readonly _options: { model: JobsModel; lab: ILab }) {
    super();
    this.addClass('jp-jupysched-card-host');
  }

  renderModel(model: IRenderMime.IMimeModel): Promise<void> {
    this._saved = model.data[JOB_MIME] as unknown as ISaved;
    this.update();
    return Promise.resolve();
  }

  protected override render(): React.JSX.Element | null {
    const saved = this._saved;
    if (saved === null || typeof saved.id !== 'number') {
      return null;
    }
    const { model, lab } = this._options;
    return (
      <LabProvider value={lab}>
        <UseSignal signal={model.changed}>
          {() => <Live model={model} saved={saved} />}
        </UseSignal>
      </LabProvider>
    );
  }

  private _saved: ISaved | null = null;
}

function Live(props: { model: JobsModel; saved: ISaved }): React.JSX.Element {
  const { model, saved } = props;
  const { view } = model;
  const known = view.jobs.get(saved.id);
  const isLive = isSameJob(
    { id: saved.id, submitted_at: saved.submitted_at ?? null },
    known
  );
  const job = isLive ? known : savedJob(saved);
  const gpus =
    isLive && isHolding(job)
      ? view.gpus.filter(gpu => gpu.jobs.includes(job.id))
      : [];
  const loss =
    (isLive ? view.losses.get(job.id) : undefined) ?? savedLoss(saved);
  return (
    <Card
      job={job}
      isLive={isLive}
      gpus={gpus}
      loss={loss}
      notes={saved.notes ?? []}
      returned={saved.returned ?? []}
      hasLanded={saved.has_landed === true}
      mustFetch={saved.must_fetch === true}
    />
  );
}

interface ICardProps {
  job: JobRecord;
  isLive: boolean;
  gpus: readonly GpuRecord[];
  loss: LossRecord | undefined;
  notes: readonly string[];
  returned: readonly string[];
  hasLanded: boolean;
  mustFetch: boolean;
}

export function Card(props: ICardProps): React.JSX.Element {
  const { texts } = useLab();
  const { job, loss, isLive } = props;
  const now = useNow(isLive && isHolding(job));
  const name = tidy(job.name, 80);
  const figures = [
    ...props.gpus.map(gpu => gpuLine(gpu, props.gpus.length === 1)),
    lossWords(loss, texts)
  ].filter(Boolean);
  const hasSpark = loss !== undefined && loss.spark.length > 1;
  const number = (
    <span className="jp-jupysched-soft">{texts.__('job %1', job.id)}</span>
  );
  const hasFigures = figures.length > 0 || hasSpark;
  return (
    <article
      className={`jp-jupysched-card jp-mod-${job.state}`}
      aria-label={texts.__('GPU job %1, %2', job.id, name)}
      data-jupysched-job={job.id}
      data-jupysched-state={job.state}
    >
      <div className="jp-jupysched-card-row">
        <Mark state={job.state} />
        <b title={tidy(job.name, 4000)}>
          <bdi>{name}</bdi>
        </b>
        <span className="jp-jupysched-pill" aria-live="polite">
          <Pill job={job} now={now} isLive={isLive} />
        </span>
        <bdi className="jp-jupysched-soft jp-jupysched-grow">
          <Beside job={job} now={now} isLive={isLive} />
        </bdi>
        {!hasFigures && number}
        {isLive && <CardActions job={job} hasLoss={loss !== undefined} />}
      </div>
      {hasFigures && (
        <div className="jp-jupysched-card-row jp-jupysched-soft">
          <bdi>{figures.join(' · ')}</bdi>
          {hasSpark && (
            <Sparkline values={loss.spark} width={150} height={16} />
          )}
          <span className="jp-jupysched-grow" />
          {number}
        </div>
      )}
      <Detail {...props} />
    </article>
  );
}

function Detail(props: ICardProps): React.JSX.Element | null {
  const { texts } = useLab();
  const { job, loss, notes, returned, hasLanded } = props;
  const said: string[] = [];
  if (job.why !== '' && job.state !== 'succeeded') {
    said.push(tidy(job.why, 600));
  }
  if (
    loss !== undefined &&
    loss.value === null &&
    loss.mark !== '' &&
    loss.spark.length > 0
  ) {
    said.push(texts.__('%1 is %2.', tidy(loss.name, 24), loss.mark));
  }
  if (returned.length > 0) {
    const names =
      returned
        .slice(0, 6)
        .map(n => tidy(n, 40))
        .join(', ') +
      (returned.length > 6 ? ` +${figure(returned.length - 6)}` : '');
    said.push(
      hasLanded
        ? texts.__('Back in the notebook: %1.', names)
        : props.mustFetch
          ? texts.__('%1 brings back: %2.', `%gpujob fetch ${job.id}`, names)
          : texts.__('Comes back with the next cell: %1.', names)
    );
  }
  said.push(...notes.map(note => tidy(note, 600)));
  return said.length === 0 ? null : (
    <div className="jp-jupysched-card-detail jp-jupysched-soft">
      {said.map(line => (
        <bdi key={line}>{line}</bdi>
      ))}
    </div>
  );
}

function CardActions(props: {
  job: JobRecord;
  hasLoss: boolean;
}): React.JSX.Element {
  const { texts, execute } = useLab();
  const { job } = props;
  const button = (
    label: string,
    command: string,
    name = label
  ): React.JSX.Element => (
    <button
      type="button"
      className="jp-jupysched-button"
      aria-label={texts.__('%1 job %2', name, job.id)}
      onClick={() => {
        execute(command, { jobs: [job.id] });
      }}
    >
      {label}
    </button>
  );
  return (
    <span className="jp-jupysched-card-actions">
      {isPossible('raise', job) &&
        button('↑', CommandIDs.raise, texts.__('Raise priority of'))}
      {isPossible('lower', job) &&
        button('↓', CommandIDs.lower, texts.__('Lower priority of'))}
      {props.hasLoss && button(texts.__('Loss'), CommandIDs.openLoss)}
      {job.attempt > 0 &&
        job.mine &&
        button(texts.__('Log'), CommandIDs.showLog)}
      {isPossible('cancel', job) &&
        job.state !== 'stopping' &&
        button(texts.__('Cancel'), CommandIDs.cancel)}
      {isPossible('release', job) &&
        button(texts.__('Release'), CommandIDs.release)}
      {(job.state === 'failed' || job.state === 'cancelled') &&
        isPossible('requeue', job) &&
        button(texts.__('Queue again'), CommandIDs.requeue)}
    </span>
  );
}
