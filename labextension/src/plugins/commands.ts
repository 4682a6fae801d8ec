/** What can be done with jobs: commands, palette entries, context menu. */

import type {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import {
  Clipboard,
  Dialog,
  ICommandPalette,
  Notification,
  showDialog
} from '@jupyterlab/apputils';
import { INotebookTracker } from '@jupyterlab/notebook';
import {
  ITranslator,
  nullTranslator,
  type TranslationBundle
} from '@jupyterlab/translation';
import type { ReadonlyPartialJSONObject } from '@lumino/coreutils';

import type { JobRecord } from '../api/schema';
import { CommandIDs, DOMAIN, PluginIDs } from '../ids';
import { findCell } from '../model/cells';
import { sentence } from '../model/jobs';
import { type Action, isHolding, isPossible } from '../model/states';
import { tidy } from '../model/text';
import { IJobsModel, ISidebarModel } from '../tokens';

const ROW = '.jp-jupysched-row';

const JOBS_ARGS = {
  args: {
    type: 'object',
    properties: {
      jobs: {
        type: 'array',
        items: { type: 'number' },
        description: 'Ids of jobs; without it, the jobs chosen in the sidebar'
      }
    }
  }
} as const;

export const commands: JupyterFrontEndPlugin<void> = {
  id: PluginIDs.commands,
  description: 'Commands on GPU jobs.',
  autoStart: true,
  requires: [IJobsModel, ISidebarModel],
  optional: [ITranslator, ICommandPalette, INotebookTracker],
  activate: (
    app: JupyterFrontEnd,
    model: IJobsModel,
    sidebar: ISidebarModel,
    translator: ITranslator | null,
    palette: ICommandPalette | null,
    tracker: INotebookTracker | null
  ): void => {
    const texts = (translator ?? nullTranslator).load(DOMAIN);
    const jobsOf = (args: ReadonlyPartialJSONObject): JobRecord[] => {
      const ids = Array.isArray(args['jobs'])
        ? args['jobs'].map(Number)
        : sidebar.chosen;
      return ids.flatMap(id => model.job(id) ?? []);
    };
    addActions(app, model, texts, jobsOf);
    addLooks(app, model, texts, jobsOf, tracker);

    for (const command of [
      ...ACTIONS.map(([id]) => id),
      CommandIDs.goToCell,
      CommandIDs.copyAttach
    ]) {
      palette?.addItem({ command, category: texts.__('GPU') });
    }
    const menu = [
      CommandIDs.showLog,
      CommandIDs.showDetail,
      CommandIDs.goToCell,
      CommandIDs.openLoss,
      CommandIDs.copyAttach
    ];
    menu.forEach((command, rank) =>
      app.contextMenu.addItem({ command, selector: ROW, rank })
    );
    app.contextMenu.addItem({ type: 'separator', selector: ROW, rank: 10 });
    ACTIONS.forEach(([command], rank) =>
      app.contextMenu.addItem({ command, selector: ROW, rank: 11 + rank })
    );
  }
};

const ACTIONS: readonly (readonly [string, Action])[] = [
  [CommandIDs.cancel, 'cancel'],
  [CommandIDs.hold, 'hold'],
  [CommandIDs.release, 'release'],
  [CommandIDs.requeue, 'requeue'],
  [CommandIDs.raise, 'raise'],
  [CommandIDs.lower, 'lower']
];

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

/** What cannot be undone is asked for once: stopping what runs, or many at a time. */
async function mayGoOn(
  action: Action,
  jobs: readonly JobRecord[],
  texts: TranslationBundle
): Promise<boolean> {
  const running = jobs.filter(isHolding);
  if (!(action === 'cancel' || (action === 'requeue' && running.length > 0))) {
    return true;
  }
  if (action === 'cancel' && running.length === 0 && jobs.length === 1) {
    return true; // it has not begun: queueing it again costs nothing
  }
  const first = jobs[0];
  const what =
    jobs.length === 1 && first !== undefined
      ? texts.__('%1 (job %2)', tidy(first.name, 60), first.id)
      : texts._n('%1 job', '%1 jobs', jobs.length);
  const body =
    running.length > 0
      ? texts._n(
          '%1 of them is running; what it has not saved is lost.',
          '%1 of them are running; what they have not saved is lost.',
          running.length
        )
      : texts.__('They have not started yet.');
  const answer = await showDialog({
    title:
      action === 'cancel'
        ? texts.__('Cancel %1?', what)
        : texts.__('Stop and queue again %1?', what),
    body:
      jobs.length === 1
        ? texts.__('It is running; what it has not saved is lost.')
        : body,
    buttons: [
      Dialog.cancelButton({ label: texts.__('Keep') }),
      Dialog.warnButton({
        label:
          action === 'cancel' ? texts.__('Cancel Job') : texts.__('Queue Again')
      })
    ]
  });
  return answer.button.accept;
}

function addLooks(
  app: JupyterFrontEnd,
  model: IJobsModel,
  texts: TranslationBundle,
  jobsOf: JobsOf,
  tracker: INotebookTracker | null
): void {
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
    describedBy: { args: { type: 'object', properties: {} } }
  });
  app.commands.addCommand(CommandIDs.goToCell, {
    label: texts.__('Go to Cell of GPU Job'),
    isEnabled: args => jobsOf(args)[0]?.origin['cell_id'] !== undefined,
    execute: async args => {
      const job = jobsOf(args)[0];
      if (
        job !== undefined &&
        tracker !== null &&
        !(await goToCell(app, tracker, job))
      ) {
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
    isEnabled: args => jobsOf(args).length === 1,
    execute: args => {
      const job = jobsOf(args)[0];
      if (job !== undefined) {
        Clipboard.copyToSystem(`%gpujob attach ${job.id}`);
      }
    },
    describedBy: JOBS_ARGS
  });
}

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
