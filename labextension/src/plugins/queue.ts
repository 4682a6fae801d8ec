/** 'Queue on GPU…': the form that writes the %%gpujob line of a cell, checks it and runs it; the launcher's tile; the example. */

import type {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import {
  Dialog,
  ICommandPalette,
  Notification,
  showDialog
} from '@jupyterlab/apputils';
import { ILauncher } from '@jupyterlab/launcher';
import {
  INotebookTracker,
  NotebookActions,
  type NotebookPanel
} from '@jupyterlab/notebook';
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import {
  ITranslator,
  nullTranslator,
  type TranslationBundle
} from '@jupyterlab/translation';

import { CommandIDs, DOMAIN, PluginIDs } from '../ids';
import { gpuIcon, queueIcon } from '../icons';
import { NO_ARGS } from '../model/args';
import { isCodeCell } from '../model/cells';
import * as line from '../model/line';
import { IJobsModel } from '../tokens';
import { labOf } from '../widgets/context';
import { QueueForm } from '../widgets/queueForm';

const EXAMPLE = [
  'import time',
  '',
  'for step in range(1, 21):',
  '    loss = 2.3 * 0.85 ** step',
  '    print(f"step {step} loss: {loss:.4f}", flush=True)',
  '    time.sleep(0.5)',
  'answer = {"steps": step, "loss": loss}'
].join('\n');

export const queue: JupyterFrontEndPlugin<void> = {
  id: PluginIDs.queue,
  description: 'A form that queues the current cell on a GPU.',
  autoStart: true,
  requires: [INotebookTracker, IJobsModel],
  optional: [ITranslator, ICommandPalette, ILauncher, ISettingRegistry],
  activate: (
    app: JupyterFrontEnd,
    tracker: INotebookTracker,
    model: IJobsModel,
    translator: ITranslator | null,
    palette: ICommandPalette | null,
    launcher: ILauncher | null,
    registry: ISettingRegistry | null
  ): void => {
    const texts = (translator ?? nullTranslator).load(DOMAIN);
    const lab = labOf(app.commands, texts);
    const memory = new Memory(registry);
    const isOnCode = (): boolean => isCodeCell(tracker.activeCell);
    app.commands.addCommand(CommandIDs.queueCell, {
      label: args =>
        args['isToolbar'] === true ? '' : texts.__('Queue on GPU…'),
      caption: texts.__('Queue this cell as a GPU job'),
      icon: queueIcon,
      isEnabled: isOnCode,
      execute: async () => {
        const panel = tracker.currentWidget;
        const cell = tracker.activeCell;
        if (panel === null || !isCodeCell(cell)) {
          return;
        }
        const source = cell.model.sharedModel.getSource();
        const { wanted, rest } = line.read(source);
        const first = line.isJobCell(source)
          ? wanted
          : { ...(await memory.last()), name: wanted.name };
        const answer = await showDialog({
          title: texts.__('Queue on GPU'),
          body: new QueueForm({ model, lab, wanted: first, rest }),
          buttons: [
            Dialog.cancelButton(),
            Dialog.okButton({ label: texts.__('Queue') })
          ],
          focusNodeSelector: 'input[name="gpus"]'
        });
        if (answer.button.accept && answer.value !== null) {
          memory.keep(answer.value);
          cell.model.sharedModel.setSource(line.write(source, answer.value));
          await run(panel, texts);
        }
      },
      describedBy: NO_ARGS
    });
    app.commands.addCommand(CommandIDs.insertExample, {
      label: texts.__('GPU Job Example'),
      caption: texts.__('A notebook cell that becomes a GPU job'),
      icon: gpuIcon,
      execute: async args => {
        let panel = tracker.currentWidget;
        if (panel === null || args['isLauncher'] === true) {
          panel = (await app.commands.execute('notebook:create-new', {
            kernelName: args['kernelName'] ?? null
          })) as NotebookPanel;
          await panel.context.ready;
        }
        insertExample(panel);
      },
      describedBy: NO_ARGS
    });
    palette?.addItem({
      command: CommandIDs.queueCell,
      category: texts.__('GPU')
    });
    palette?.addItem({
      command: CommandIDs.insertExample,
      category: texts.__('GPU')
    });
    launcher?.add({
      command: CommandIDs.insertExample,
      args: { isLauncher: true },
      category: texts.__('GPU'),
      rank: 1
    });
  }
};

/** What was asked for last, kept in the settings. */
class Memory {
  constructor(private readonly _registry: ISettingRegistry | null) {}

  async last(): Promise<line.IWanted> {
    const settings = await this._registry?.load(PluginIDs.queue);
    const kept = settings?.get('last').composite as
      Partial<line.IWanted> | undefined;
    return { ...line.PLAIN, ...kept, name: '' };
  }

  keep(wanted: line.IWanted): void {
    const { gpus, gpuMemory, time, priority } = wanted;
    const last = { gpus, gpuMemory, time, priority };
    void this._registry?.set(PluginIDs.queue, 'last', last);
  }
}

/** Make the magics known to the kernel, then run the chosen cell. */
async function run(
  panel: NotebookPanel,
  texts: TranslationBundle
): Promise<void> {
  await panel.sessionContext.ready;
  const kernel = panel.sessionContext.session?.kernel;
  if (!kernel) {
    Notification.warning(
      texts.__(
        'The notebook has no kernel yet: choose one, then queue the cell again.'
      ),
      { autoClose: 6000 }
    );
    return;
  }
  // Loading again changes nothing.
  await kernel.requestExecute({
    code: '%load_ext jupysched',
    silent: true,
    store_history: false
  }).done;
  panel.content.deselectAll();
  await NotebookActions.run(panel.content, panel.sessionContext);
}

/** Two cells: the extension is loaded, and a job that shows a loss. */
function insertExample(panel: NotebookPanel): void {
  const notebook = panel.content;
  const shared = notebook.model?.sharedModel;
  if (shared === undefined) {
    return;
  }
  const active = notebook.activeCell;
  const isEmpty =
    active !== null &&
    isCodeCell(active) &&
    active.model.sharedModel.getSource().trim() === '';
  const at =
    notebook.activeCellIndex +
    (isEmpty || notebook.activeCellIndex < 0 ? 0 : 1);
  if (isEmpty) {
    shared.deleteCell(notebook.activeCellIndex);
  }
  shared.insertCells(Math.max(0, at), [
    { cell_type: 'code', source: '%load_ext jupysched' },
    {
      cell_type: 'code',
      source: line.write(EXAMPLE, {
        ...line.PLAIN,
        time: '10m',
        name: 'example'
      })
    }
  ]);
  notebook.activeCellIndex = Math.max(0, at);
}
