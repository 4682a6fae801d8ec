/** A job's log as lines: grown from pieces, bounded, with the colours of each line. Pure; the caller fetches. */

import type { Outputs } from '../api/schema';
import { type IRun, runs, settled } from './ansi';

/** Lines kept for looking at; older ones are counted. */
export const MOST_LINES = 20_000;

export interface ILogLine {
  number: number;
  runs: IRun[];
  text: string;
}

type Pen = ReturnType<typeof runs>['pen'];

export class Log {
  /** Lines that are whole, oldest first. */
  readonly lines: ILogLine[] = [];
  dropped = 0;
  end = 0;
  hasEnded = false;

  /** Take in the next piece. */
  take(outputs: Outputs): void {
    this.end = outputs.end;
    this.hasEnded = outputs.ended;
    for (const op of outputs.ops) {
      // A bar on one stream and what is printed on the other stand apart, as under the cell.
      const from = op.op === 'stream' ? (op.name ?? 'stdout') : op.op;
      if (from !== this._from && this._rest !== '') {
        this._text('\n');
      }
      this._from = from;
      if (op.op === 'stream') {
        this._text(op.text ?? '');
      } else if (op.op === 'note') {
        this._text(`[jupysched] ${op.text ?? ''}\n`);
      } else if (op.output) {
        this._text(plain(op.output));
      }
    }
  }

  /** The line that is being written. */
  get open(): string {
    return settled(this._rest);
  }

  private _text(text: string): void {
    const parts = (this._rest + text).split('\n');
    this._rest = (parts.pop() ?? '').slice(-100_000);
    for (const part of parts) {
      const line = settled(part.endsWith('\r') ? part.slice(0, -1) : part);
      const drawn = runs(line, this._pen);
      this._pen = drawn.pen;
      this._count += 1;
      this.lines.push({
        number: this._count,
        runs: drawn.runs,
        text: drawn.runs.map(run => run.text).join('')
      });
    }
    if (this.lines.length > MOST_LINES * 1.2) {
      this.dropped += this.lines.splice(
        0,
        this.lines.length - MOST_LINES
      ).length;
    }
  }

  private _rest = '';
  /** the stream that was written last */
  private _from = '';
  private _count = 0;
  private _pen: Pen | undefined = undefined;
}

/** What a display looks like in a log. */
function plain(output: Record<string, unknown>): string {
  if (output['output_type'] === 'error') {
    const trace = output['traceback'];
    const lines = Array.isArray(trace) ? trace.map(String) : [];
    return `${lines.length > 0 ? lines.join('\n') : `${String(output['ename'])}: ${String(output['evalue'])}`}\n`;
  }
  const data = output['data'] as Record<string, unknown> | undefined;
  const text = data?.['text/plain'];
  const joined = Array.isArray(text) ? text.join('') : text;
  return typeof joined === 'string' ? `${joined}\n` : '';
}
