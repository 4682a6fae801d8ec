/** The cells of one notebook that this page writes: takes them over from the kernel, from the spool, and leaves them to others. */

import type { CodeCell } from '@jupyterlab/cells';
import type * as nbformat from '@jupyterlab/nbformat';
import type { NotebookPanel } from '@jupyterlab/notebook';
import type { IDisposable } from '@lumino/disposable';

import type { JobRecord, Op, Snapshot } from '../api/schema';
import { cardOf, codeCells, isWrittenByKernel, withCard } from './cells';
import type { JobsModel } from './jobs';
import { OutputWriter } from './outputs';
import { type IAwareness, Turns } from './turns';

/** Where others have the document open too, what they tell of themselves may still be on its way. */
export const SHARED_MS = 1000;

interface ITaken {
  job: number;
  attempt: number;
  following: IDisposable | null;
}

export interface IWritersOptions {
  panel: NotebookPanel;
  model: JobsModel;
  /** Another page came, went, or began to write. */
  onTurn: () => void;
  /** The job's input() waits for an answer; null: no longer. */
  onAsk: (cell: CodeCell, snapshot: Snapshot, question: Op | null) => void;
  /** The attempt that this page wrote has ended. */
  onEnd: (cell: CodeCell, job: number) => void;
}

export class Writers {
  constructor(private readonly _options: IWritersOptions) {
    const { collaborative, sharedModel } = _options.panel.context.model;
    const { awareness } = sharedModel as { awareness?: IAwareness };
    const shared = collaborative === true ? (awareness ?? null) : null;
    this._turns = new Turns(shared, () => {
      this._yield();
      _options.onTurn();
    });
  }

  /** Let pages that share the document know which cells the kernel writes through this one. */
  tellCells(): void {
    this._turns.cells = codeCells(this._options.panel)
      .filter(isWrittenByKernel)
      .map(cell => cell.model.id);
  }

  /** Does this page write the job's newest attempt into the cell? */
  isWriting(cell: CodeCell, job: JobRecord): boolean {
    const taken = this._taken.get(cell);
    return (
      taken?.job === job.id &&
      taken.attempt === job.attempt &&
      taken.following?.isDisposed === false
    );
  }

  /** Is it for this page to write, if nobody else is about to say that they do? */
  hasTurn(job: number, cell: CodeCell): boolean {
    return this._turns.isMine(job, cell.model.id);
  }

  /**
   * Is it for this page to write? Alone at once; where others share the document, once they have had the time to say that they do:
   * until then false, and `onTurn` follows.
   */
  isMine(job: number, cell: CodeCell): boolean {
    if (!this.hasTurn(job, cell)) {
      this._waited.delete(job);
      return false;
    }
    if (!this._turns.isShared) {
      return true;
    }
    const since = this._waited.get(job);
    if (since === undefined) {
      this._waited.set(job, Date.now());
      this._options.onTurn();
    }
    return since !== undefined && Date.now() - since >= SHARED_MS;
  }

  /** Show what the spool holds, and go on with what comes. */
  async take(cell: CodeCell, job: JobRecord): Promise<void> {
    if (this._busy.has(cell)) {
      return;
    }
    this._busy.add(cell);
    this._turns.begin(job.id);
    const { model, onAsk, onEnd } = this._options;
    let following: IDisposable | null = null;
    try {
      const snapshot = await model.outputs(job.id);
      if (cell.isDisposed || !this.hasTurn(job.id, cell)) {
        return;
      }
      this._taken.get(cell)?.following?.dispose();
      const writer = write(cell, snapshot, this._turns.isShared);
      if (!snapshot.ended && snapshot.attempt > 0) {
        const { attempt, end } = snapshot;
        following = model.follow(job.id, attempt, end, piece => {
          writer.apply(piece.ops);
          const last = piece.ops.at(-1);
          if (last !== undefined || piece.ended) {
            onAsk(cell, snapshot, last?.op === 'input' ? last : null);
          }
          if (piece.ended) {
            this.leave(cell);
            onEnd(cell, job.id);
          }
        });
      }
      onAsk(cell, snapshot, snapshot.asks);
      const { attempt } = snapshot;
      this._taken.set(cell, { job: job.id, attempt, following });
    } catch (reason) {
      console.warn(`jupysched: outputs of job ${job.id}`, reason);
    } finally {
      this._busy.delete(cell);
      if (following === null) {
        this._turns.end(job.id);
      }
    }
  }

  /** This page writes the cell no longer. */
  leave(cell: CodeCell): void {
    const taken = this._taken.get(cell);
    if (taken !== undefined) {
      taken.following?.dispose();
      this._taken.delete(cell);
      this._turns.end(taken.job);
    }
  }

  dispose(): void {
    for (const cell of [...this._taken.keys()]) {
      this.leave(cell);
    }
    this._turns.dispose();
  }

  private _yield(): void {
    for (const [cell, taken] of [...this._taken]) {
      if (!this.hasTurn(taken.job, cell)) {
        this.leave(cell);
      }
    }
  }

  private readonly _turns: Turns;
  private readonly _taken = new Map<CodeCell, ITaken>();
  private readonly _busy = new Set<CodeCell>();
  /** job -> since when it has been for this page to write it */
  private readonly _waited = new Map<number, number>();
}

/** Put the snapshot behind what the cell itself printed and the card, which is renewed. */
function write(
  cell: CodeCell,
  snapshot: Snapshot,
  isShared: boolean
): OutputWriter {
  const { outputs, sharedModel } = cell.model;
  const now = isShared ? sharedModel.getOutputs() : outputs.toJSON();
  if (isShared) {
    // What this page shows may differ from the document (JupyterLab 4.6, after another page's update_display_data), and what is
    // written over it then leaves parts of the old text behind.
    sharedModel.setOutputs([]);
  }
  const at = cardOf(now)?.index ?? -1;
  const before = [
    ...now.slice(0, Math.max(0, at)),
    withCard(now[at], snapshot.card)
  ];
  const writer = new OutputWriter(outputs, before.filter(isOutput));
  writer.replace(snapshot.ops, snapshot.clearing);
  return writer;
}

const isOutput = (
  output: nbformat.IOutput | undefined
): output is nbformat.IOutput => output !== undefined;
