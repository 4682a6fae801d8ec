/** Makes the jobs known to JupyterLab. So far it only says that the extension is here. */

import type {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';

import { PluginIDs } from '../ids';

export const jobs: JupyterFrontEndPlugin<void> = {
  id: PluginIDs.jobs,
  description: 'The GPU jobs of this server.',
  autoStart: true,
  activate: (_app: JupyterFrontEnd): void => {
    // Nothing yet: the model arrives with the server extension.
  }
};
