/** Adds the queue to the status bar, if there is one. */

import type {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { IStatusBar } from '@jupyterlab/statusbar';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';

import { DOMAIN, PluginIDs } from '../ids';
import { IJobsModel } from '../tokens';
import { labOf } from '../widgets/context';
import { StatusItem } from '../widgets/statusItem';

export const status: JupyterFrontEndPlugin<void> = {
  id: PluginIDs.status,
  description: 'GPUs and jobs in the status bar.',
  autoStart: true,
  requires: [IJobsModel],
  optional: [IStatusBar, ITranslator],
  activate: (
    app: JupyterFrontEnd,
    model: IJobsModel,
    bar: IStatusBar | null,
    translator: ITranslator | null
  ): void => {
    const texts = (translator ?? nullTranslator).load(DOMAIN);
    bar?.registerStatusItem(PluginIDs.status, {
      item: new StatusItem({ model, lab: labOf(app.commands, texts) }),
      align: 'left',
      rank: 50
    });
  }
};
