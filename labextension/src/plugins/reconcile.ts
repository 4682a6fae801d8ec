/**
 * Brings outputs into their cells where the kernel does so no longer: after a reload, a restart, hours with the lid closed.
 *
 * One writer a cell. The kernel writes as long as the request lives that queued the job; from then on this plug-in does, from the
 * spool: first all that is there, then what comes, each byte once. Of several pages that share the document, one.
 */

import type {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import type { CodeCell } from '@jupyterlab/cells';
import { INotebookTracker, type NotebookPanel } from '@jupyterlab/notebook';
import { Widget } from '@lumino/widgets';

import { PluginIDs } from '../ids';
import { cardOf, codeCells, isWrittenByKernel } from '../model/cells';
import { isSameJob } from '../model/fold';
import type { IJobChange } from '../model/jobs';
import { hasEnded } from '../model/states';
import { SHARED_MS, Writers } from '../model/writers';
import { IJobsModel } from '../tokens';
import { Question } from '../widgets/stdin';

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

/** Looks after the cells of one notebook. Lives as long as its panel. */
class NotebookReconciler {
  constructor(
    private readonly _panel: NotebookPanel,
    private readonly _model: IJobsModel
  ) {
    this._writers = new Writers({
      panel: _panel,
      model: _model,
      onTurn: () => {
        this._onTurn();
      },
      onAsk: (cell, { job, attempt }, op) => {
        this._questions.get(cell)?.dispose();
        this._questions.delete(cell);
        if (op !== null && !cell.isDisposed) {
          const question = new Question({ model: _model, job, attempt, op });
          this._questions.set(cell, question);
          Widget.attach(question, cell.outputArea.node);
        }
      },
      onEnd: (cell, job) => {
        this._onEnd(cell, job);
      }
    });
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
    this._writers.tellCells();
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

  private _onTurn(): void {
    if (!this._isTurning) {
      this._isTurning = true;
      setTimeout(() => {
        this._isTurning = false;
        this._lookAtAll();
      }, SHARED_MS + 50);
    }
  }

  private _onStatus(_: unknown, status: string): void {
    this._writers.tellCells();
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
        const known = this._model.job(job);
        if (
          card?.id === job &&
          known !== undefined &&
          this._writers.hasTurn(job, cell)
        ) {
          void this._writers.take(cell, known);
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
    if (this._writers.isWriting(cell, job)) {
      return;
    }
    const isSettled =
      hasEnded(card) && card.attempt === job.attempt && hasEnded(job);
    if (!isSettled && this._writers.isMine(job.id, cell)) {
      void this._writers.take(cell, job);
    }
  }

  /** The attempt has ended: once the queue knows it too, the saved card says so. */
  private _onEnd(cell: CodeCell, id: number): void {
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

  private _onDisposed(): void {
    this._model.refreshed.disconnect(this._lookAtAll, this);
    this._model.jobChanged.disconnect(this._onJob, this);
    this._writers.dispose();
    this._questions.forEach(question => {
      question.dispose();
    });
  }

  private readonly _writers: Writers;
  private readonly _questions = new Map<CodeCell, Question>();
  private readonly _doubted = new Set<number>();
  private _wasCut = false;
  private _isTurning = false;
}
