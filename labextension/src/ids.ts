/** Names by which JupyterLab knows our plug-ins and commands. */

/** Ids of the plug-ins; the part after the colon is the file in plugins/ and, where there are settings, in schema/. */
export const PluginIDs = {
  jobs: 'jupysched:jobs',
  commands: 'jupysched:commands',
  goTo: 'jupysched:goto',
  sidebar: 'jupysched:sidebar',
  status: 'jupysched:status',
  card: 'jupysched:card',
  badges: 'jupysched:badges',
  reconcile: 'jupysched:reconcile',
  queue: 'jupysched:queue',
  panels: 'jupysched:panels',
  pages: 'jupysched:pages',
  notify: 'jupysched:notify'
} as const;

/** Ids of the commands. Those about jobs take `{ jobs: number[] }`, or without it the jobs chosen in the sidebar. */
export const CommandIDs = {
  showSidebar: 'jupysched:show-sidebar',
  queueCell: 'jupysched:queue-cell',
  insertExample: 'jupysched:insert-example',
  startDaemon: 'jupysched:start-daemon',
  cancel: 'jupysched:cancel',
  hold: 'jupysched:hold',
  release: 'jupysched:release',
  requeue: 'jupysched:requeue',
  front: 'jupysched:move-to-front',
  raise: 'jupysched:priority-up',
  lower: 'jupysched:priority-down',
  showLog: 'jupysched:show-log',
  showDetail: 'jupysched:show-detail',
  goToCell: 'jupysched:go-to-cell',
  copyAttach: 'jupysched:copy-attach',
  openUtilization: 'jupysched:open-utilization',
  openLoss: 'jupysched:open-loss',
  openQueue: 'jupysched:open-queue',
  openUsage: 'jupysched:open-usage'
} as const;

/** The MIME type of the card under a cell. */
export const JOB_MIME = 'application/vnd.jupysched.job+json';

/** Where our translated texts are looked up. */
export const DOMAIN = 'jupysched';
