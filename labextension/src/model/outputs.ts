/** A job's outputs in nbformat: from a snapshot, and from what happens after it. Pure: writes to whatever takes outputs. */

import type * as nbformat from '@jupyterlab/nbformat';

import { OP_DEFAULTS, type Op } from '../api/schema';

/** The part of Lab's output area model that is used. */
export interface IOutputs {
  readonly length: number;
  add(output: nbformat.IOutput): number;
  set(index: number, output: nbformat.IOutput): void;
  fromJSON(outputs: nbformat.IOutput[]): void;
  toJSON(): nbformat.IOutput[];
}

const whole = (op: Op): Required<Op> => ({ ...OP_DEFAULTS, ...op });

function outputOf(op: Required<Op>): nbformat.IOutput | null {
  if (op.op === 'stream') {
    return { output_type: 'stream', name: op.name, text: op.text };
  }
  return op.op === 'output' && op.output !== null
    ? (op.output as nbformat.IOutput)
    : null;
}

/** Writes one job's outputs behind the first `before` outputs of a cell (its card and what the cell itself printed). */
export class OutputWriter {
  constructor(
    private readonly _outputs: IOutputs,
    private readonly _before: nbformat.IOutput[]
  ) {}

  /** Show exactly this. */
  replace(ops: readonly Op[], isClearing: boolean): void {
    this._ids.clear();
    this._isClearing = isClearing;
    const shown = [...this._before];
    for (const op of ops.map(whole)) {
      const output = outputOf(op);
      if (output !== null) {
        this._remember(op.display_id, shown.length);
        shown.push(output);
      }
    }
    this._outputs.fromJSON(shown);
  }

  /** Let these happen. */
  apply(ops: readonly Op[]): void {
    for (const op of ops.map(whole)) {
      if (op.op === 'clear') {
        this._isClearing = op.wait;
        if (!op.wait) {
          this._clear();
        }
      } else if (op.op === 'update') {
        this._update(op);
      } else {
        this._add(op);
      }
    }
  }

  private _add(op: Required<Op>): void {
    const output = outputOf(op);
    if (output === null) {
      return;
    }
    if (this._isClearing) {
      this._isClearing = false;
      this._clear();
    }
    const length = this._outputs.add(output);
    this._remember(op.display_id, length - 1);
  }

  private _update(op: Required<Op>): void {
    const now = this._outputs.toJSON();
    for (const index of this._ids.get(op.display_id) ?? []) {
      const old = now[index];
      if (old !== undefined && op.output !== null) {
        const { data, metadata } = op.output as Partial<nbformat.IDisplayData>;
        this._outputs.set(index, {
          ...old,
          data: data ?? {},
          metadata: metadata ?? {}
        });
      }
    }
  }

  private _clear(): void {
    this._ids.clear();
    this._outputs.fromJSON([...this._before]);
  }

  private _remember(displayId: string, index: number): void {
    if (displayId !== '') {
      this._ids.set(displayId, [...(this._ids.get(displayId) ?? []), index]);
    }
  }

  private readonly _ids = new Map<string, number[]>();
  private _isClearing = false;
}
