/** Says when one of this user's jobs starts, ends or fails: in Lab, by the browser if it was allowed, and in the tab's title. */

import type {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { Notification as LabNotification } from '@jupyterlab/apputils';
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import {
  ITranslator,
  nullTranslator,
  type TranslationBundle
} from '@jupyterlab/translation';

import type { JobRecord } from '../api/schema';
import { CommandIDs, DOMAIN, PluginIDs } from '../ids';
import { duration, where } from '../model/format';
import type { IJobChange } from '../model/jobs';
import { isOwn } from '../model/list';
import { tidy } from '../model/text';
import { Together } from '../model/together';
import { IJobsModel } from '../tokens';

interface IWishes {
  onStart: boolean;
  onEnd: boolean;
  onFailure: boolean;
  desktop: boolean;
}

export const notify: JupyterFrontEndPlugin<void> = {
  id: PluginIDs.notify,
  description: 'Notifications about GPU jobs.',
  autoStart: true,
  requires: [IJobsModel],
  optional: [ITranslator, ISettingRegistry],
  activate: (
    app: JupyterFrontEnd,
    model: IJobsModel,
    translator: ITranslator | null,
    registry: ISettingRegistry | null
  ): void => {
    const texts = (translator ?? nullTranslator).load(DOMAIN);
    let wishes: IWishes = {
      onStart: true,
      onEnd: true,
      onFailure: true,
      desktop: false
    };
    void registry?.load(PluginIDs.notify).then(settings => {
      const read = (): void => {
        wishes = settings.composite as unknown as IWishes;
        if (
          wishes.desktop &&
          'Notification' in window &&
          Notification.permission === 'default'
        ) {
          void Notification.requestPermission();
        }
      };
      read();
      settings.changed.connect(read);
    });
    const title = new TabTitle();
    const together = new Together(standsMs);
    const shown = new Map<string, string>();
    model.jobChanged.connect((_, change) => {
      const said = words(change, model.view.me, wishes, texts);
      if (said === null) {
        return;
      }
      const { job } = change;
      const before = together.add(said.kind, Date.now());
      const options = {
        autoClose: standsMs(said.kind),
        actions: [
          {
            label: texts.__('Go to cell'),
            callback: () =>
              void app.commands.execute(CommandIDs.goToCell, { jobs: [job.id] })
          },
          {
            label: texts.__('Log'),
            callback: () =>
              void app.commands.execute(CommandIDs.showLog, { jobs: [job.id] })
          }
        ]
      };
      const message =
        before === 0
          ? said.text
          : texts._n(
              '%2 (and 1 more just before)',
              '%2 (and %1 more just before)',
              before,
              said.text.replace(/\.$/, '')
            );
      const last = shown.get(said.kind);
      const isJoined =
        before > 0 &&
        last !== undefined &&
        LabNotification.update({
          id: last,
          message,
          type: said.kind,
          ...options
        });
      if (!isJoined) {
        shown.set(said.kind, LabNotification.emit(message, said.kind, options));
      }
      if (document.hidden) {
        title.count();
        if (
          wishes.desktop &&
          'Notification' in window &&
          Notification.permission === 'granted'
        ) {
          new Notification(said.text, { tag: `jupysched-${job.id}` });
        }
      }
    });
  }
};

/** How long a message is seen. */
const standsMs = (kind: string): number => (kind === 'error' ? 15_000 : 5000);

interface ISaid {
  text: string;
  kind: 'info' | 'success' | 'error';
}

/** What to say of a change, or null. */
function words(
  change: IJobChange,
  me: string,
  wishes: IWishes,
  texts: TranslationBundle
): ISaid | null {
  const { job, before } = change;
  if (!isOwn(job, me) || before === null || before.state === job.state) {
    return null;
  }
  const name = tidy(job.name, 60);
  if (job.state === 'running' && wishes.onStart && waitedLong(job)) {
    return {
      text: texts.__('%1 has started on %2.', name, where(job)),
      kind: 'info'
    };
  }
  const ran = job.ran_s === null ? '' : duration(job.ran_s);
  if (job.state === 'succeeded' && wishes.onEnd) {
    return {
      text: texts.__('%1 has succeeded in %2.', name, ran),
      kind: 'success'
    };
  }
  if (job.state === 'failed' && wishes.onFailure) {
    const why = job.why === '' ? '' : `: ${tidy(job.why, 200)}`;
    return { text: texts.__('%1 has failed%2', name, why), kind: 'error' };
  }
  return null;
}

/** Who has just run the cell sees it start without being told. */
const waitedLong = (job: JobRecord): boolean => (job.waited_s ?? 0) > 10;

/** Counts in the tab's title while nobody looks. */
class TabTitle {
  constructor() {
    document.addEventListener('visibilitychange', () => {
      if (!document.hidden) {
        this._count = 0;
        this._write();
      }
    });
  }

  count(): void {
    this._count += 1;
    this._write();
  }

  private _write(): void {
    const plain = document.title.replace(/^\(\d+\) /, '');
    document.title = this._count === 0 ? plain : `(${this._count}) ${plain}`;
  }

  private _count = 0;
}
