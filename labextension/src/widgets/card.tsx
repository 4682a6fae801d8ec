/** The card under a cell: live while the job is known to this server, else as it was saved. */

import type { IRenderMime } from '@jupyterlab/rendermime-interfaces';
import { ReactWidget, UseSignal } from '@jupyterlab/ui-components';
import * as React from 'react';

import {
  type GpuRecord,
  JOB_RECORD_DEFAULTS,
  type JobRecord,
  type LossRecord
} from '../api/schema';
import { CommandIDs, JOB_MIME } from '../ids';
import { isSameJob } from '../model/fold';
import {
  clock,
  duration,
  elapsed,
  figure,
  limit,
  lossWords,
  ordinal,
  size,
  where
} from '../model/format';
import type { JobsModel } from '../model/jobs';
import { hasEnded, isHolding, isPossible } from '../model/states';
import { tidy } from '../model/text';
import { type ILab, LabProvider, useLab, useNow } from './context';
import { Mark } from './jobRow';
import { Sparkline } from './sparkline';

/** What the magic saves beside the record. */
interface ISaved extends Partial<JobRecord> {
  id: number;
  words?: { pill?: string; beside?: string; detail?: string };
  losses?: (number | null)[];
  notes?: string[];
  returned?: string[] | null;
  has_landed?: boolean;
  must_fetch?: boolean;
}

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
  const stored: JobRecord = {
    ...JOB_RECORD_DEFAULTS,
    user: '',
    name: '',
    state: 'pending',
    ...saved
  };
  const job = isLive ? known : stored;
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

function savedLoss(saved: ISaved): LossRecord | undefined {
  const metrics = saved.metrics ?? {};
  const name =
    'loss' in metrics
      ? 'loss'
      : Object.keys(metrics).find(n => n !== 'step' && n !== 'epoch');
  if (name === undefined) {
    return undefined;
  }
  const value = metrics[name];
  const epoch = metrics['epoch'];
  return {
    job: saved.id,
    name,
    value: typeof value === 'number' ? value : null,
    step: null,
    epoch: typeof epoch === 'number' ? epoch : null,
    spark: saved.losses ?? [],
    mark:
      typeof value === 'number' ? '' : typeof value === 'string' ? value : 'NaN'
  };
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
  const now = useNow(1000);
  const name = tidy(job.name, 80);
  const figures = [
    ...props.gpus.map(gpu => gpuLine(gpu, props.gpus.length === 1)),
    lossWords(loss, texts)
  ].filter(Boolean);
  const hasSpark = loss !== undefined && loss.spark.length > 1;
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
        {isLive && <CardActions job={job} hasLoss={loss !== undefined} />}
      </div>
      {(figures.length > 0 || hasSpark) && (
        <div className="jp-jupysched-card-row jp-jupysched-soft">
          <bdi>{figures.join(' · ')}</bdi>
          {hasSpark && (
            <Sparkline values={loss.spark} width={150} height={16} />
          )}
          <span className="jp-jupysched-grow" />
          <span>{texts.__('job %1', job.id)}</span>
        </div>
      )}
      <Detail {...props} />
    </article>
  );
}

/** GPU 97 % · 48.9 of 80.0 GB. */
function gpuLine(gpu: GpuRecord, isAlone: boolean): string {
  if (gpu.kind === 'cpu_slot') {
    return '';
  }
  const used =
    gpu.utilization_percent === null
      ? 'n/a'
      : `${gpu.utilization_percent.toFixed(0)} %`;
  const memory =
    gpu.memory_used_bytes === null || gpu.memory_total_bytes === null
      ? ''
      : ` · ${(gpu.memory_used_bytes / 1e9).toFixed(1)} of ${size(gpu.memory_total_bytes)}`;
  return `${isAlone ? 'GPU' : tidy(gpu.label, 40)} ${used}${memory}`;
}

interface IPartProps {
  job: JobRecord;
  now: Date;
  isLive: boolean;
}

function Pill({ job }: IPartProps): React.JSX.Element {
  const { texts } = useLab();
  const ran = job.ran_s === null ? null : duration(job.ran_s);
  const said = (alone: string, after: string): string =>
    ran === null ? alone : after;
  const words: Record<string, string> = {
    pending:
      job.position === null
        ? texts.__('waiting')
        : texts.__('waiting, %1', ordinal(job.position)),
    held: texts.__('held'),
    starting: texts.__('starting'),
    running: texts.__('running'),
    stopping: texts.__('stopping'),
    suspended: texts.__('suspended'),
    succeeded: said(
      texts.__('succeeded'),
      texts.__('succeeded in %1', ran ?? '')
    ),
    failed: said(texts.__('failed'), texts.__('failed after %1', ran ?? '')),
    cancelled: said(
      texts.__('cancelled'),
      texts.__('cancelled after %1', ran ?? '')
    )
  };
  return <>{words[job.state] ?? job.state}</>;
}

function Beside({ job, now, isLive }: IPartProps): React.JSX.Element {
  const { texts } = useLab();
  if (!isLive && !hasEnded(job)) {
    return (
      <>{texts.__('as it was saved; this server does not know this job')}</>
    );
  }
  if (job.state === 'pending') {
    return (
      <>
        {job.expected_start_at === null
          ? ''
          : texts.__('starts about %1', clock(job.expected_start_at, now))}
      </>
    );
  }
  const parts = [where(job)];
  if (isHolding(job)) {
    const ran = elapsed(job, now);
    const of = job.request.time_limit_s;
    if (ran !== null) {
      parts.push(
        of === null
          ? duration(ran)
          : texts.__('%1 of %2', duration(ran), limit(of))
      );
    }
  } else if (job.started_at !== null && job.waited_s !== null) {
    parts.unshift(texts.__('waited %1', duration(job.waited_s)));
  }
  if (job.attempt > 1) {
    parts.push(texts.__('attempt %1', job.attempt));
  }
  return <>{parts.filter(Boolean).join(' · ')}</>;
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
