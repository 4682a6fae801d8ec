/** What can be done with jobs: commands, palette entries, the context menu of a row. */

import type {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { ICommandPalette, Notification } from '@jupyterlab/apputils';
import {
  ITranslator,
  nullTranslator,
  type TranslationBundle
} from '@jupyterlab/translation';
import type { ReadonlyPartialJSONObject } from '@lumino/coreutils';

import type { JobRecord } from '../api/schema';
import { CommandIDs, DOMAIN, PluginIDs } from '../ids';
import { idsOf, JOBS_ARGS, NO_ARGS } from '../model/args';
import { sentence } from '../model/jobs';
import { type Action, isPossible } from '../model/states';
import { IJobsModel, ISidebarModel } from '../tokens';
import { mayGoOn } from '../widgets/question';

const ROW = '.jp-jupysched-row';

const ACTIONS: readonly (readonly [string, Action])[] = [
  [CommandIDs.cancel, 'cancel'],
  [CommandIDs.hold, 'hold'],
  [CommandIDs.release, 'release'],
  [CommandIDs.requeue, 'requeue'],
  [CommandIDs.front, 'front'],
  [CommandIDs.raise, 'raise'],
  [CommandIDs.lower, 'lower']
];

/** What a row's menu offers above the actions; other plug-ins make these. */
const LOOKS: readonly string[] = [
  CommandIDs.showLog,
  CommandIDs.showDetail,
  CommandIDs.goToCell,
  CommandIDs.openLoss,
  CommandIDs.copyAttach
];

export const commands: JupyterFrontEndPlugin<void> = {
  id: PluginIDs.commands,
  description: 'Commands on GPU jobs.',
  autoStart: true,
  requires: [IJobsModel, ISidebarModel],
  optional: [ITranslator, ICommandPalette],
  activate: (
    app: JupyterFrontEnd,
    model: IJobsModel,
    sidebar: ISidebarModel,
    translator: ITranslator | null,
    palette: ICommandPalette | null
  ): void => {
    const texts = (translator ?? nullTranslator).load(DOMAIN);
    addActions(app, model, texts, args =>
      idsOf(args, sidebar.chosen).flatMap(id => model.job(id) ?? [])
    );
    app.commands.addCommand(CommandIDs.startDaemon, {
      label: texts.__('Start GPU Queue'),
      isEnabled: () => model.view.down !== '' && model.view.mayStart,
      execute: async () => {
        try {
          await model.startDaemon();
        } catch (reason) {
          Notification.error(sentence(reason), { autoClose: false });
        }
      },
      describedBy: NO_ARGS
    });
    for (const [command] of ACTIONS) {
      palette?.addItem({ command, category: texts.__('GPU') });
    }
    const { contextMenu } = app;
    LOOKS.forEach((command, rank) =>
      contextMenu.addItem({ command, selector: ROW, rank })
    );
    contextMenu.addItem({ type: 'separator', selector: ROW, rank: 10 });
    ACTIONS.forEach(([command], rank) =>
      contextMenu.addItem({ command, selector: ROW, rank: 11 + rank })
    );
  }
};

type JobsOf = (args: ReadonlyPartialJSONObject) => JobRecord[];

function addActions(
  app: JupyterFrontEnd,
  model: IJobsModel,
  texts: TranslationBundle,
  jobsOf: JobsOf
): void {
  const labels: Record<Action, string> = {
    cancel: texts.__('Cancel GPU Job'),
    hold: texts.__('Hold GPU Job'),
    release: texts.__('Release GPU Job'),
    requeue: texts.__('Queue GPU Job Again'),
    front: texts.__('Move GPU Job to the Front'),
    raise: texts.__('Raise Priority of GPU Job'),
    lower: texts.__('Lower Priority of GPU Job')
  };
  for (const [id, action] of ACTIONS) {
    app.commands.addCommand(id, {
      label: labels[action],
      isEnabled: args => jobsOf(args).some(job => isPossible(action, job)),
      execute: async args => {
        const jobs = jobsOf(args).filter(job => isPossible(action, job));
        if (jobs.length === 0 || !(await mayGoOn(action, jobs, texts))) {
          return;
        }
        try {
          await model.act(action, jobs);
        } catch (reason) {
          Notification.error(sentence(reason), { autoClose: 8000 });
        }
      },
      describedBy: JOBS_ARGS
    });
  }
}
