/** What plug-ins share. Types only, but for the tokens themselves. */

import { Token } from '@lumino/coreutils';

import type { JobsModel } from './model/jobs';
import type { SidebarModel } from './model/sidebar';

/** The jobs and GPUs of this server. */
export const IJobsModel = new Token<IJobsModel>(
  'jupysched:IJobsModel',
  'The GPU jobs of this server, live, and the verbs that change them.'
);
export type IJobsModel = JobsModel;

/** What is chosen in the sidebar. */
export const ISidebarModel = new Token<ISidebarModel>(
  'jupysched:ISidebarModel',
  'Filter and chosen jobs of the GPU sidebar.'
);
export type ISidebarModel = SidebarModel;
