/** Opens the Bokeh panels of the server in dock areas, lets them follow the theme, and restores them. */

import {
  ILayoutRestorer,
  type JupyterFrontEnd,
  type JupyterFrontEndPlugin
} from '@jupyterlab/application';
import {
  ICommandPalette,
  IThemeManager,
  MainAreaWidget,
  WidgetTracker
} from '@jupyterlab/apputils';
import { URLExt } from '@jupyterlab/coreutils';
import { ILauncher } from '@jupyterlab/launcher';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';
import type { LabIcon } from '@jupyterlab/ui-components';
import type { ReadonlyPartialJSONObject } from '@lumino/coreutils';

import { CommandIDs, DOMAIN, PluginIDs } from '../ids';
import { gpuIcon, lossIcon, queueIcon } from '../icons';
import { idsOf, jobsArgs, NO_ARGS } from '../model/args';
import { ISidebarModel } from '../tokens';
import { PanelFrame } from '../widgets/panelFrame';

interface IPanel {
  command: string;
  path: string;
  label: string;
  icon: LabIcon;
}

export const panels: JupyterFrontEndPlugin<void> = {
  id: PluginIDs.panels,
  description: 'GPU utilization, training loss, queue and usage.',
  autoStart: true,
  requires: [ISidebarModel],
  optional: [
    ITranslator,
    IThemeManager,
    ILayoutRestorer,
    ICommandPalette,
    ILauncher
  ],
  activate: (
    app: JupyterFrontEnd,
    sidebar: ISidebarModel,
    translator: ITranslator | null,
    themes: IThemeManager | null,
    restorer: ILayoutRestorer | null,
    palette: ICommandPalette | null,
    launcher: ILauncher | null
  ): void => {
    const texts = (translator ?? nullTranslator).load(DOMAIN);
    const isDark = (): boolean =>
      themes !== null && themes.theme !== null && !themes.isLight(themes.theme);
    const all: readonly IPanel[] = [
      {
        command: CommandIDs.openUtilization,
        path: 'utilization',
        label: texts.__('GPU Utilization'),
        icon: gpuIcon
      },
      {
        command: CommandIDs.openLoss,
        path: 'loss',
        label: texts.__('Training Loss'),
        icon: lossIcon
      },
      {
        command: CommandIDs.openQueue,
        path: 'queue',
        label: texts.__('GPU Queue over Time'),
        icon: queueIcon
      },
      {
        command: CommandIDs.openUsage,
        path: 'usage',
        label: texts.__('GPU Usage'),
        icon: gpuIcon
      }
    ];
    const base = URLExt.join(
      app.serviceManager.serverSettings.baseUrl,
      'jupysched/panels'
    );
    /** panels opened so far, the newest first */
    const beside: string[] = [];
    for (const [rank, panel] of all.entries()) {
      const tracker = new WidgetTracker<MainAreaWidget<PanelFrame>>({
        namespace: `jupysched-${panel.path}`
      });
      const jobsOf = (args: ReadonlyPartialJSONObject): number[] =>
        panel.path === 'loss' ? [...idsOf(args, sidebar.chosen)] : [];
      app.commands.addCommand(panel.command, {
        label: panel.label,
        icon: panel.icon,
        execute: args => {
          const jobs = jobsOf(args).join(',');
          const id = `jupysched-${panel.path}${jobs === '' ? '' : `-${jobs.replaceAll(',', '-')}`}`;
          let widget = tracker.find(w => w.id === id);
          if (widget === undefined) {
            const query: Record<string, string> = jobs === '' ? {} : { jobs };
            const address = URLExt.join(base, panel.path);
            const content = new PanelFrame({
              address,
              query,
              title: panel.label,
              isDark: isDark()
            });
            // The shell owns it.
            widget = new MainAreaWidget({ content }); // eslint-disable-line jupyter/require-disposable-ownership
            widget.id = id;
            widget.title.label = panel.label;
            widget.title.icon = panel.icon;
            widget.title.closable = true;
            // Panels share one area: each that is split off would leave less for all.
            const ref = beside.find(id => find(app, id));
            app.shell.add(
              widget,
              'main',
              ref === undefined
                ? { mode: 'split-right' }
                : { mode: 'tab-after', ref }
            );
            beside.unshift(id);
            void tracker.add(widget);
          }
          app.shell.activateById(widget.id);
        },
        describedBy:
          panel.path === 'loss'
            ? jobsArgs(
                'Jobs whose loss is shown; without it, those chosen in the sidebar'
              )
            : NO_ARGS
      });
      palette?.addItem({ command: panel.command, category: texts.__('GPU') });
      launcher?.add({
        command: panel.command,
        category: texts.__('GPU'),
        rank: 2 + rank
      });
      themes?.themeChanged.connect(() => {
        tracker.forEach(widget => {
          widget.content.isDark = isDark();
        });
      });
      void restorer?.restore(tracker, {
        command: panel.command,
        args: widget => ({ jobs: widget.id.split('-').slice(2).map(Number) }),
        name: widget => widget.id
      });
    }
  }
};

/** Is a widget with this id in the main area? */
function find(app: JupyterFrontEnd, id: string): boolean {
  return [...app.shell.widgets('main')].some(widget => widget.id === id);
}
