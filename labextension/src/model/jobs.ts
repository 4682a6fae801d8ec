/** The one model of a page: what the stream says, folded, and the verbs that change it. Owns client and stream. */

import type { IDisposable } from '@lumino/disposable';
import { type ISignal, Signal } from '@lumino/signaling';

import type { ApiClient } from '../api/client';
import { ApiError } from '../api/errors';
import type {
  AnswerAsk,
  Change,
  DetailRecord,
  JobRecord,
  Outputs,
  Refresh,
  Snapshot
} from '../api/schema';
import type { EventStream } from '../api/stream';
import { fold, type IView, NOTHING, withJobs } from './fold';
import { type Action, neighbour } from './states';

/** Readings of a GPU kept for its sparkline: a minute, for the server sends one every two seconds. */
const MOST_READINGS = 30;
/** Older ended jobs that are brought at a time. */
const PAGE = 200;

export interface IJobChange {
  job: JobRecord;
  /** null if it was not known before */
  before: JobRecord | null;
}

export class JobsModel implements IDisposable {
  constructor(options: { client: ApiClient; stream: EventStream }) {
    this._client = options.client;
    this._stream = options.stream;
    this._stream.message.connect(this._onMessage, this);
    this._stream.connectionChanged.connect(this._onConnection, this);
  }

  get view(): IView {
    return this._view;
  }

  get isConnected(): boolean {
    return this._stream.isConnected;
  }

  /** Anything changed. */
  get changed(): ISignal<this, void> {
    return this._changed;
  }

  /** A job appeared or changed; not emitted for a refresh that brings what was there before. */
  get jobChanged(): ISignal<this, IJobChange> {
    return this._jobChanged;
  }

  /** The stream (re)connected and everything was brought anew. */
  get refreshed(): ISignal<this, void> {
    return this._refreshed;
  }

  job(id: number): JobRecord | undefined {
    return this._view.jobs.get(id);
  }

  /** The last minute of a GPU's utilization; null where it was not told. */
  readings(gpu: string): readonly (number | null)[] {
    return this._readings.get(gpu) ?? [];
  }

  /** Cancel, hold, release, requeue or move jobs; the first named goes to the very front. Raises ApiError in the daemon's words. */
  async act(action: Action, jobs: readonly JobRecord[]): Promise<void> {
    if (action !== 'raise' && action !== 'lower') {
      await this._act(
        action,
        jobs.map(job => job.id)
      );
      return;
    }
    for (const from of new Set(jobs.map(job => job.priority))) {
      const to = neighbour(from, action === 'raise' ? 1 : -1);
      const ids = jobs.filter(job => job.priority === from).map(job => job.id);
      await this._act('priority', ids, to);
    }
  }

  private async _act(
    verb: string,
    jobs: number[],
    priority = 'normal'
  ): Promise<void> {
    // What became of them comes over the stream, as for everybody.
    await this._client.act({ verb, jobs, priority });
  }

  async startDaemon(): Promise<void> {
    await this._client.startDaemon();
  }

  dryRun(line: string): Promise<JobRecord> {
    return this._client.dryRun(line);
  }

  detail(job: number): Promise<DetailRecord> {
    return this._client.detail(job);
  }

  outputs(job: number): Promise<Snapshot> {
    return this._client.outputs(job);
  }

  log(job: number, attempt: number, start: number): Promise<Outputs> {
    return this._client.log(job, attempt, start);
  }

  /** What a person typed for the job's input(). Raises ApiError. */
  async answer(job: number, ask: AnswerAsk): Promise<void> {
    await this._client.answer(job, ask);
  }

  /** Outputs as they come; see EventStream.follow. */
  follow(
    job: number,
    attempt: number,
    start: number,
    take: (outputs: Outputs) => void
  ): IDisposable {
    return this._stream.follow(job, attempt, start, take);
  }

  /** Bring more of the ended jobs. */
  async bringOlder(): Promise<void> {
    if (this._isBringing || this._view.older === 0) {
      return;
    }
    this._isBringing = true;
    try {
      const known = this._view.jobs.size;
      const page = await this._client.jobs({ limit: PAGE, offset: known });
      const jobs = withJobs(this._view.jobs, page.jobs);
      const older =
        page.jobs.length === 0 ? 0 : Math.max(0, page.total - jobs.size);
      this._view = { ...this._view, jobs, older };
      this._changed.emit();
    } finally {
      this._isBringing = false;
    }
  }

  /** Look for the server again at once. */
  hurry(): void {
    this._stream.hurry();
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  dispose(): void {
    if (this._isDisposed) {
      return;
    }
    this._isDisposed = true;
    this._stream.message.disconnect(this._onMessage, this);
    this._stream.connectionChanged.disconnect(this._onConnection, this);
    this._stream.dispose();
    Signal.clearData(this);
  }

  private _onMessage(_: EventStream, message: Refresh | Change): void {
    const before = this._view;
    const next = fold(before, message);
    if (message.type === 'refresh' || message.gpus !== undefined) {
      this._keepReadings(next);
    }
    this._take(next);
    if (message.type === 'refresh') {
      this._refreshed.emit();
    }
  }

  private _take(next: IView): void {
    const before = this._view;
    this._view = next;
    if (before.isKnown && before.jobs !== next.jobs) {
      for (const [id, job] of next.jobs) {
        const old = before.jobs.get(id);
        if (old !== job && (old === undefined || differs(old, job))) {
          this._jobChanged.emit({ job, before: old ?? null });
        }
      }
    }
    this._changed.emit();
  }

  private _onConnection(): void {
    this._changed.emit();
  }

  private _keepReadings(view: IView): void {
    for (const gpu of view.gpus) {
      const kept = this._readings.get(gpu.id) ?? [];
      this._readings.set(gpu.id, [
        ...kept.slice(1 - MOST_READINGS),
        gpu.utilization_percent
      ]);
    }
  }

  private readonly _client: ApiClient;
  private readonly _stream: EventStream;
  private readonly _readings = new Map<string, (number | null)[]>();
  private readonly _changed = new Signal<this, void>(this);
  private readonly _jobChanged = new Signal<this, IJobChange>(this);
  private readonly _refreshed = new Signal<this, void>(this);
  private _view: IView = NOTHING;
  private _isBringing = false;
  private _isDisposed = false;
}

/** Two records of a refresh are two objects also where nothing happened. */
function differs(a: JobRecord, b: JobRecord): boolean {
  return (
    a.state !== b.state ||
    a.attempt !== b.attempt ||
    a.position !== b.position ||
    a.priority !== b.priority ||
    a.why !== b.why ||
    a.expected_start_at !== b.expected_start_at ||
    a.ended_at !== b.ended_at ||
    a.started_at !== b.started_at
  );
}

/** What went wrong, for a notification: the sentence and the hint. */
export function sentence(reason: unknown): string {
  return ApiError.of(reason).message;
}
