/** Puts the queue into the left area, and keeps what a person has set there. */

import {
  ILayoutRestorer,
  type JupyterFrontEnd,
  type JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';

import { CommandIDs, DOMAIN, PluginIDs } from '../ids';
import { gpuIcon } from '../icons';
import { NO_ARGS } from '../model/args';
import { SidebarModel } from '../model/sidebar';
import { IJobsModel, ISidebarModel } from '../tokens';
import { labOf } from '../widgets/context';
import { Sidebar } from '../widgets/sidebar';

export const sidebar: JupyterFrontEndPlugin<ISidebarModel> = {
  id: PluginIDs.sidebar,
  description: 'The GPU queue in the left area.',
  autoStart: true,
  provides: ISidebarModel,
  requires: [IJobsModel],
  optional: [ITranslator, ISettingRegistry, ILayoutRestorer, ICommandPalette],
  activate: (
    app: JupyterFrontEnd,
    model: IJobsModel,
    translator: ITranslator | null,
    settings: ISettingRegistry | null,
    restorer: ILayoutRestorer | null,
    palette: ICommandPalette | null
  ): ISidebarModel => {
    const texts = (translator ?? nullTranslator).load(DOMAIN);
    const chosen = new SidebarModel();
    const widget = new Sidebar({
      model,
      sidebar: chosen,
      lab: labOf(app.commands, texts)
    });
    app.shell.add(widget, 'left', { rank: 610, type: 'GPU queue' });
    restorer?.add(widget, widget.id);

    app.commands.addCommand(CommandIDs.showSidebar, {
      label: texts.__('Show GPU Queue'),
      icon: gpuIcon,
      execute: () => {
        app.shell.activateById(widget.id);
      },
      describedBy: NO_ARGS
    });
    palette?.addItem({
      command: CommandIDs.showSidebar,
      category: texts.__('GPU')
    });

    if (settings !== null) {
      void keepWhose(settings, chosen);
    }
    return chosen;
  }
};

/** Whose jobs are shown is remembered, here and in the settings editor alike. */
async function keepWhose(
  registry: ISettingRegistry,
  chosen: SidebarModel
): Promise<void> {
  const settings = await registry.load(PluginIDs.sidebar);
  const read = (): void => {
    const isMineOnly = settings.get('show').composite === 'mine';
    if (isMineOnly !== chosen.isMineOnly) {
      chosen.isMineOnly = isMineOnly;
    }
  };
  read();
  settings.changed.connect(read);
  chosen.changed.connect(() => {
    const show = chosen.isMineOnly ? 'mine' : 'all';
    if (settings.get('show').composite !== show) {
      void settings.set('show', show);
    }
  });
}
