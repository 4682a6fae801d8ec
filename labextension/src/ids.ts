/** Names by which JupyterLab knows our plug-ins and commands. */

/** Ids of the plug-ins; the part after the colon is the file in plugins/ and, where there are settings, in schema/. */
export const PluginIDs = {
  jobs: 'jupysched:jobs'
} as const;
