/**
 * Brings outputs into their cells where the kernel does so no longer: after a reload, a restart, hours with the lid closed.
 *
 * One writer a cell. The kernel writes as long as the request lives that queued the job; from then on this plug-in does, from the
 * spool: first all that is there, then what comes, each byte once.
 */

import type {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import type { CodeCell } from '@jupyterlab/cells';
import type * as nbformat from '@jupyterlab/nbformat';
import { INotebookTracker, type NotebookPanel } from '@jupyterlab/notebook';
import type { IDisposable } from '@lumino/disposable';

import type { JobRecord, Snapshot } from '../api/schema';
import { PluginIDs } from '../ids';
import {
  cardOf,
  codeCells,
  type ISavedCard,
  isWrittenByKernel,
  withCard
} from '../model/cells';
import { isSameJob } from '../model/fold';
import type { IJobChange } from '../model/jobs';
import { OutputWriter } from '../model/outputs';
import { hasEnded } from '../model/states';
import { IJobsModel } from '../tokens';

/** The kernel's last words may still be on their way when the queue says that a job has ended. */
const SETTLE_MS = 3000;

export const reconcile: JupyterFrontEndPlugin<void> = {
  id: PluginIDs.reconcile,
  description: 'Outputs of GPU jobs in their cells, after reload and restart.',
  autoStart: true,
  requires: [INotebookTracker, IJobsModel],
  activate: (
    _: JupyterFrontEnd,
    tracker: INotebookTracker,
    model: IJobsModel
  ): void => {
    tracker.widgetAdded.connect((_sender, panel) => {
      new NotebookReconciler(panel, model);
    });
    tracker.forEach(panel => {
      new NotebookReconciler(panel, model);
    });
  }
};

/** One cell that this page writes. */
interface ITaken {
  job: number;
  attempt: number;
  following: IDisposable | null;
}

/** Looks after the cells of one notebook. Lives as long as its panel. */
class NotebookReconciler {
  constructor(
    private readonly _panel: NotebookPanel,
    private readonly _model: IJobsModel
  ) {
    _model.refreshed.connect(this._lookAtAll, this);
    _model.jobChanged.connect(this._onJob, this);
    _panel.sessionContext.statusChanged.connect(this._onStatus, this);
    _panel.sessionContext.kernelChanged.connect(this._lookSoon, this);
    _panel.sessionContext.connectionStatusChanged.connect(
      this._onConnection,
      this
    );
    _panel.disposed.connect(this._onDisposed, this);
    void _panel.context.ready.then(() => {
      this._lookAtAll();
    });
  }

  private _lookAtAll(): void {
    if (
      this._panel.isDisposed ||
      !this._panel.context.isReady ||
      !this._model.view.isKnown
    ) {
      return;
    }
    for (const cell of codeCells(this._panel)) {
      this._look(cell);
    }
  }

  private _lookSoon(): void {
    // The kernel connection forgets its requests a moment after it says that it restarts.
    setTimeout(() => {
      this._lookAtAll();
    }, 200);
  }

  private _onStatus(_: unknown, status: string): void {
    if (
      [
        'restarting',
        'autorestarting',
        'dead',
        'terminating',
        'unknown'
      ].includes(status)
    ) {
      this._lookSoon();
    }
  }

  private _onConnection(_: unknown, status: string): void {
    if (status === 'connected') {
      if (this._wasCut) {
        this._wasCut = false;
        this._doubtAll();
      }
      this._lookSoon();
    } else {
      this._wasCut = true;
    }
  }

  /** While the kernel's connection was cut, outputs may have been lost: compare when their jobs have ended. */
  private _doubtAll(): void {
    for (const cell of codeCells(this._panel)) {
      const card = cardOf(cell.model.outputs.toJSON());
      if (card !== null) {
        this._doubted.add(card.id);
        const job = this._model.job(card.id);
        if (isSameJob(card, job) && hasEnded(job)) {
          this._settle(job.id);
        }
      }
    }
  }

  private _onJob(_: unknown, change: IJobChange): void {
    const { job, before } = change;
    if (!job.mine) {
      return;
    }
    if (hasEnded(job) && this._doubted.has(job.id)) {
      this._settle(job.id);
    }
    if (before?.state !== job.state || before.attempt !== job.attempt) {
      this._lookAtAll();
    }
  }

  private _settle(job: number): void {
    this._doubted.delete(job);
    setTimeout(() => {
      for (const cell of this._panel.isDisposed ? [] : codeCells(this._panel)) {
        const card = cardOf(cell.model.outputs.toJSON());
        if (card?.id === job) {
          void this._take(cell, card, this._model.job(job));
        }
      }
    }, SETTLE_MS);
  }

  private _look(cell: CodeCell): void {
    const outputs = cell.model.outputs;
    if (outputs.length === 0) {
      return;
    }
    const card = cardOf(outputs.toJSON());
    if (card === null) {
      return;
    }
    const job = this._model.job(card.id);
    if (!isSameJob(card, job) || !job.mine || isWrittenByKernel(cell)) {
      return;
    }
    const taken = this._taken.get(cell);
    if (
      taken?.job === job.id &&
      taken.attempt === job.attempt &&
      taken.following?.isDisposed === false
    ) {
      return; // it is being written
    }
    const isSettled =
      hasEnded(card) && card.attempt === job.attempt && hasEnded(job);
    if (!isSettled) {
      void this._take(cell, card, job);
    }
  }

  /** Show what the spool holds, and go on with what comes. */
  private async _take(
    cell: CodeCell,
    card: ISavedCard,
    job: JobRecord | undefined
  ): Promise<void> {
    if (job === undefined || this._busy.has(cell)) {
      return;
    }
    this._busy.add(cell);
    try {
      const snapshot = await this._model.outputs(job.id);
      if (cell.isDisposed || this._panel.isDisposed) {
        return;
      }
      this._taken.get(cell)?.following?.dispose();
      const writer = this._write(cell, card, snapshot);
      const following =
        writer === null || snapshot.ended || snapshot.attempt === 0
          ? null
          : this._model.follow(
              job.id,
              snapshot.attempt,
              snapshot.end,
              piece => {
                writer.apply(piece.ops);
                if (piece.ended) {
                  this._endSoon(cell, job.id);
                }
              }
            );
      this._taken.set(cell, {
        job: job.id,
        attempt: snapshot.attempt,
        following
      });
    } catch (reason) {
      console.warn(`jupysched: outputs of job ${job.id}`, reason);
    } finally {
      this._busy.delete(cell);
    }
  }

  /** The attempt has ended: once the queue knows it too, the saved card says so. */
  private _endSoon(cell: CodeCell, id: number): void {
    this._taken.delete(cell);
    setTimeout(() => {
      if (!cell.isDisposed) {
        this._look(cell);
        const job = this._model.job(id);
        if (job !== undefined && !hasEnded(job)) {
          this._lookSoon();
        }
      }
    }, 500);
  }

  /** Null if the cell shows it already, to the letter. */
  private _write(
    cell: CodeCell,
    card: ISavedCard,
    snapshot: Snapshot
  ): OutputWriter | null {
    const now = cell.model.outputs.toJSON();
    const before = [
      ...now.slice(0, card.index),
      withCard(now[card.index], snapshot.card)
    ];
    const writer = new OutputWriter(
      cell.model.outputs,
      before.filter(isOutput)
    );
    writer.replace(snapshot.ops, snapshot.clearing);
    return writer;
  }

  private _onDisposed(): void {
    this._model.refreshed.disconnect(this._lookAtAll, this);
    this._model.jobChanged.disconnect(this._onJob, this);
    for (const taken of this._taken.values()) {
      taken.following?.dispose();
    }
    this._taken.clear();
  }

  private readonly _taken = new Map<CodeCell, ITaken>();
  private readonly _busy = new Set<CodeCell>();
  private readonly _doubted = new Set<number>();
  private _wasCut = false;
}

const isOutput = (
  output: nbformat.IOutput | undefined
): output is nbformat.IOutput => output !== undefined;
