/** From a job back to its cell: goes there, or gives the line that brings it into another one. */

import type {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { Clipboard, ICommandPalette, Notification } from '@jupyterlab/apputils';
import { INotebookTracker } from '@jupyterlab/notebook';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';
import type { ReadonlyPartialJSONObject } from '@lumino/coreutils';

import type { JobRecord } from '../api/schema';
import { CommandIDs, DOMAIN, PluginIDs } from '../ids';
import { idsOf, JOBS_ARGS } from '../model/args';
import { findCell } from '../model/cells';
import { IJobsModel, ISidebarModel } from '../tokens';

export const goTo: JupyterFrontEndPlugin<void> = {
  id: PluginIDs.goTo,
  description: 'From a GPU job to its cell.',
  autoStart: true,
  requires: [IJobsModel, ISidebarModel, INotebookTracker],
  optional: [ITranslator, ICommandPalette],
  activate: (
    app: JupyterFrontEnd,
    model: IJobsModel,
    sidebar: ISidebarModel,
    tracker: INotebookTracker,
    translator: ITranslator | null,
    palette: ICommandPalette | null
  ): void => {
    const texts = (translator ?? nullTranslator).load(DOMAIN);
    const only = (args: ReadonlyPartialJSONObject): JobRecord | undefined => {
      const ids = idsOf(args, sidebar.chosen);
      return ids.length === 1 ? model.job(ids[0] ?? 0) : undefined;
    };
    app.commands.addCommand(CommandIDs.goToCell, {
      label: texts.__('Go to Cell of GPU Job'),
      isEnabled: args => only(args)?.origin['cell_id'] !== undefined,
      execute: async args => {
        const job = only(args);
        if (job !== undefined && !(await goToCell(app, tracker, job))) {
          Notification.warning(
            texts.__(
              'The cell of job %1 is not in any notebook that can be opened here.',
              job.id
            ),
            { autoClose: 6000 }
          );
        }
      },
      describedBy: JOBS_ARGS
    });
    app.commands.addCommand(CommandIDs.copyAttach, {
      label: texts.__('Copy Attach Line of GPU Job'),
      isEnabled: args => only(args) !== undefined,
      execute: args => {
        const job = only(args);
        if (job !== undefined) {
          Clipboard.copyToSystem(`%gpujob attach ${job.id}`);
        }
      },
      describedBy: JOBS_ARGS
    });
    for (const command of [CommandIDs.goToCell, CommandIDs.copyAttach]) {
      palette?.addItem({ command, category: texts.__('GPU') });
    }
  }
};

/** Open the notebook if need be, and stand on the cell. */
async function goToCell(
  app: JupyterFrontEnd,
  tracker: INotebookTracker,
  job: JobRecord
): Promise<boolean> {
  const id = job.origin['cell_id'] ?? '';
  let found = findCell(tracker, id);
  const path = job.origin['path'];
  if (found === null && path !== undefined) {
    try {
      await app.commands.execute('docmanager:open', { path });
    } catch {
      return false;
    }
    const panel = tracker.find(p => p.context.path === path);
    await panel?.context.ready;
    found = findCell(tracker, id);
  }
  if (found === null) {
    return false;
  }
  const { panel, cell } = found;
  app.shell.activateById(panel.id);
  panel.content.activeCellIndex = panel.content.widgets.indexOf(cell);
  await panel.content.scrollToCell(cell);
  return true;
}
