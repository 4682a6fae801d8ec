/** Hangs a badge on each cell whose outputs hold a card, and takes it away with the card. */

import type {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import type { CodeCell } from '@jupyterlab/cells';
import { INotebookTracker, type NotebookPanel } from '@jupyterlab/notebook';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';
import { Widget } from '@lumino/widgets';

import { DOMAIN, PluginIDs } from '../ids';
import { cardOf, codeCells } from '../model/cells';
import { isSameJob } from '../model/fold';
import { IJobsModel } from '../tokens';
import { CellBadge } from '../widgets/cellBadge';
import { type ILab, labOf } from '../widgets/context';

export const badges: JupyterFrontEndPlugin<void> = {
  id: PluginIDs.badges,
  description: 'A badge at each cell that is a GPU job.',
  autoStart: true,
  requires: [INotebookTracker, IJobsModel],
  optional: [ITranslator],
  activate: (
    app: JupyterFrontEnd,
    tracker: INotebookTracker,
    model: IJobsModel,
    translator: ITranslator | null
  ): void => {
    const texts = (translator ?? nullTranslator).load(DOMAIN);
    const lab = labOf(app.commands, texts);
    tracker.widgetAdded.connect((_, panel) => {
      new NotebookBadges(panel, model, lab);
    });
    tracker.forEach(panel => {
      new NotebookBadges(panel, model, lab);
    });
  }
};

/** The badges of one notebook. Lives as long as its panel. */
class NotebookBadges {
  constructor(
    private readonly _panel: NotebookPanel,
    private readonly _model: IJobsModel,
    private readonly _lab: ILab
  ) {
    _panel.content.model?.cells.changed.connect(this._onCells, this);
    _panel.content.modelContentChanged.connect(this._onCells, this);
    _model.refreshed.connect(this._onCells, this);
    _panel.disposed.connect(this._onDisposed, this);
    void _panel.context.ready.then(() => {
      this._onCells();
    });
  }

  private _onCells(): void {
    if (this._isDue || this._panel.isDisposed) {
      return;
    }
    // Content changes with every line of output: look once a frame.
    this._isDue = true;
    requestAnimationFrame(() => {
      this._isDue = false;
      if (!this._panel.isDisposed) {
        codeCells(this._panel).forEach(cell => {
          this._look(cell);
        });
      }
    });
  }

  private _look(cell: CodeCell): void {
    const outputs = cell.model.outputs;
    // The card is the first thing that a job's cell shows; what stands behind it may be long.
    const first =
      outputs.length === 0 ? null : cardOf([outputs.get(0).toJSON()]);
    const job =
      first !== null && isSameJob(first, this._model.job(first.id))
        ? first.id
        : null;
    const old = this._badges.get(cell);
    if (old !== undefined && (job !== old.job || old.isDisposed)) {
      old.dispose();
      this._badges.delete(cell);
    }
    if (job !== null && !this._badges.has(cell)) {
      const badge = new CellBadge({ model: this._model, lab: this._lab, job });
      const host = cell.inputArea?.node;
      if (host !== undefined && host.isConnected) {
        Widget.attach(badge, host);
        this._badges.set(cell, badge);
        cell.disposed.connect(() => {
          badge.dispose();
        });
      } else {
        badge.dispose();
      }
    }
  }

  private _onDisposed(): void {
    this._model.refreshed.disconnect(this._onCells, this);
    this._badges.forEach(badge => {
      badge.dispose();
    });
    this._badges.clear();
  }

  private readonly _badges = new Map<CodeCell, CellBadge>();
  private _isDue = false;
}
