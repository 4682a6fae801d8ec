/** Makes JupyterLab draw the card under a cell. */

import type {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { IRenderMimeRegistry } from '@jupyterlab/rendermime';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';

import { DOMAIN, JOB_MIME, PluginIDs } from '../ids';
import { IJobsModel } from '../tokens';
import { JobCard } from '../widgets/card';
import { labOf } from '../widgets/context';

export const card: JupyterFrontEndPlugin<void> = {
  id: PluginIDs.card,
  description: 'The card of a GPU job under its cell.',
  autoStart: true,
  requires: [IRenderMimeRegistry, IJobsModel],
  optional: [ITranslator],
  activate: (
    app: JupyterFrontEnd,
    registry: IRenderMimeRegistry,
    model: IJobsModel,
    translator: ITranslator | null
  ): void => {
    const texts = (translator ?? nullTranslator).load(DOMAIN);
    const lab = labOf(app.commands, texts);
    registry.addFactory(
      // Safe: it draws text only, whatever the data say, so an untrusted notebook shows it too.
      {
        safe: true,
        mimeTypes: [JOB_MIME],
        createRenderer: () => new JobCard({ model, lab })
      },
      0
    );
  }
};
