/** Opens the log and the details of a job in the main area, and restores them. */

import {
  ILayoutRestorer,
  type JupyterFrontEnd,
  type JupyterFrontEndPlugin
} from '@jupyterlab/application';
import {
  ICommandPalette,
  MainAreaWidget,
  WidgetTracker
} from '@jupyterlab/apputils';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';
import type { ReadonlyPartialJSONObject } from '@lumino/coreutils';

import { CommandIDs, DOMAIN, PluginIDs } from '../ids';
import { gpuIcon } from '../icons';
import { idsOf, JOBS_ARGS } from '../model/args';
import { tidy } from '../model/text';
import { IJobsModel, ISidebarModel } from '../tokens';
import { labOf } from '../widgets/context';
import { JobPage, type Tab } from '../widgets/jobPage';

export const pages: JupyterFrontEndPlugin<void> = {
  id: PluginIDs.pages,
  description: 'Log and details of a GPU job.',
  autoStart: true,
  requires: [IJobsModel, ISidebarModel],
  optional: [ITranslator, ILayoutRestorer, ICommandPalette],
  activate: (
    app: JupyterFrontEnd,
    model: IJobsModel,
    sidebar: ISidebarModel,
    translator: ITranslator | null,
    restorer: ILayoutRestorer | null,
    palette: ICommandPalette | null
  ): void => {
    const texts = (translator ?? nullTranslator).load(DOMAIN);
    const lab = labOf(app.commands, texts);
    const tracker = new WidgetTracker<MainAreaWidget<JobPage>>({
      namespace: 'jupysched-job'
    });
    const idOf = (widget: MainAreaWidget<JobPage>): number =>
      Number(widget.id.split('-').at(-1));
    const first = (args: ReadonlyPartialJSONObject): number | undefined =>
      idsOf(args, sidebar.chosen)[0];

    const open = (job: number, tab: Tab): void => {
      let widget = tracker.find(w => idOf(w) === job);
      if (widget === undefined) {
        const content = new JobPage({ model, lab, job, tab });
        // The shell owns it.
        widget = new MainAreaWidget({ content }); // eslint-disable-line jupyter/require-disposable-ownership
        widget.id = `jupysched-job-${job}`;
        const record = model.job(job);
        widget.title.label =
          record === undefined
            ? texts.__('Job %1', job)
            : `${tidy(record.name, 30)} (${job})`;
        widget.title.icon = gpuIcon;
        widget.title.closable = true;
        app.shell.add(widget, 'main', { mode: 'split-bottom' });
        void tracker.add(widget);
      } else {
        widget.content.show_(tab);
      }
      app.shell.activateById(widget.id);
    };
    const add = (id: string, label: string, tab: Tab): void => {
      app.commands.addCommand(id, {
        label,
        isEnabled: args => first(args) !== undefined,
        execute: args => {
          const job = first(args);
          if (job !== undefined) {
            open(job, tab);
          }
        },
        describedBy: JOBS_ARGS
      });
      palette?.addItem({ command: id, category: texts.__('GPU') });
    };
    add(CommandIDs.showLog, texts.__('Show Log of GPU Job'), 'log');
    add(CommandIDs.showDetail, texts.__('Show Details of GPU Job'), 'detail');
    void restorer?.restore(tracker, {
      command: CommandIDs.showDetail,
      args: widget => ({ jobs: [idOf(widget)] }),
      name: widget => widget.id
    });
  }
};
