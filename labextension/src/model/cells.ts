/** Cells that are jobs: how they are found, and what their outputs say. Knows notebooks; draws nothing. */

import type { Cell, CodeCell } from '@jupyterlab/cells';
import type * as nbformat from '@jupyterlab/nbformat';
import type { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';

import { JOB_MIME } from '../ids';

/** What a saved card says of its job. */
export interface ISavedCard {
  id: number;
  state: string;
  attempt: number;
  submitted_at: string | null;
  has_landed: boolean;
  /** its place among the cell's outputs */
  index: number;
}

export const isCodeCell = (cell: Cell | null | undefined): cell is CodeCell =>
  cell?.model.type === 'code';

/** The card among these outputs, if there is one. */
export function cardOf(
  outputs: readonly nbformat.IOutput[]
): ISavedCard | null {
  for (const [index, output] of outputs.entries()) {
    const data = output['data'] as Record<string, unknown> | undefined;
    const saved = data?.[JOB_MIME] as Record<string, unknown> | undefined;
    if (saved !== undefined && typeof saved['id'] === 'number') {
      return {
        id: saved['id'],
        state: String(saved['state']),
        attempt: Number(saved['attempt'] ?? 0),
        submitted_at:
          typeof saved['submitted_at'] === 'string' &&
          saved['submitted_at'] !== ''
            ? saved['submitted_at']
            : null,
        has_landed: saved['has_landed'] === true,
        index
      };
    }
  }
  return null;
}

/** The code cells of a notebook. */
export function codeCells(panel: NotebookPanel): CodeCell[] {
  return panel.content.widgets.filter(isCodeCell);
}

/** A cell of an open notebook by its id. */
export function findCell(
  tracker: INotebookTracker,
  id: string
): { panel: NotebookPanel; cell: CodeCell } | null {
  let found: { panel: NotebookPanel; cell: CodeCell } | null = null;
  tracker.forEach(panel => {
    const cell = codeCells(panel).find(c => c.model.id === id);
    if (cell !== undefined) {
      found = { panel, cell };
    }
  });
  return found;
}

/** Does the kernel still write into this cell? As long as the request lives that filled it: no reload, no restart since. */
export function isWrittenByKernel(cell: CodeCell): boolean {
  // Its type says that there always is one; there is none before the first run.
  const future = cell.outputArea.future as
    { isDisposed: boolean } | null | undefined;
  return future !== null && future !== undefined && !future.isDisposed;
}

/** The card as it should be saved now; what only the kernel knew (has it landed?) stays. */
export function withCard(
  old: nbformat.IOutput | undefined,
  card: Record<string, unknown>
): nbformat.IOutput | undefined {
  if (old === undefined || Object.keys(card).length === 0) {
    return old;
  }
  const saved = (
    old['data'] as Record<string, Record<string, unknown>> | undefined
  )?.[JOB_MIME];
  const fresh = card[JOB_MIME] as Record<string, unknown>;
  const hasLanded = saved?.['has_landed'] === true;
  // The kernel that would have landed the results is gone.
  const data = {
    ...card,
    [JOB_MIME]: { ...fresh, has_landed: hasLanded, must_fetch: !hasLanded }
  };
  return { ...old, data };
}
