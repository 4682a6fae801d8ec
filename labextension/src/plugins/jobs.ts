/** Provides the one model of the page: client, stream and fold. Everything else asks it. */

import type {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';

import { ApiClient } from '../api/client';
import { openSocket } from '../api/socket';
import { EventStream } from '../api/stream';
import { PluginIDs } from '../ids';
import { JobsModel } from '../model/jobs';
import { IJobsModel } from '../tokens';

export const jobs: JupyterFrontEndPlugin<IJobsModel> = {
  id: PluginIDs.jobs,
  description: 'The GPU jobs of this server.',
  autoStart: true,
  provides: IJobsModel,
  activate: (app: JupyterFrontEnd): IJobsModel => {
    const { serverSettings } = app.serviceManager;
    const client = new ApiClient(serverSettings);
    const stream = new EventStream({
      open: query => openSocket(serverSettings, query)
    });
    const model = new JobsModel({ client, stream });
    document.addEventListener('visibilitychange', () => {
      if (!document.hidden) {
        model.hurry();
      }
    });
    window.addEventListener('online', () => {
      model.hurry();
    });
    return model;
  }
};
