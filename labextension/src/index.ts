/** The list of plug-ins, nothing else. */

import { badges } from './plugins/badges';
import { card } from './plugins/card';
import { commands } from './plugins/commands';
import { goTo } from './plugins/goto';
import { jobs } from './plugins/jobs';
import { notify } from './plugins/notify';
import { pages } from './plugins/pages';
import { panels } from './plugins/panels';
import { queue } from './plugins/queue';
import { reconcile } from './plugins/reconcile';
import { sidebar } from './plugins/sidebar';
import { status } from './plugins/status';

export default [
  jobs,
  sidebar,
  commands,
  goTo,
  pages,
  panels,
  queue,
  card,
  badges,
  reconcile,
  status,
  notify
];
