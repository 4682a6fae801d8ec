/** What cannot be undone is asked for once. Knows jobs and actions; does nothing itself. */

import { Dialog, showDialog } from '@jupyterlab/apputils';
import type { TranslationBundle } from '@jupyterlab/translation';

import type { JobRecord } from '../api/schema';
import { type Action, isHolding } from '../model/states';
import { tidy } from '../model/text';

/** False if the person keeps the jobs; asks only where something runs, or many are meant. */
export async function mayGoOn(
  action: Action,
  jobs: readonly JobRecord[],
  texts: TranslationBundle
): Promise<boolean> {
  const running = jobs.filter(isHolding);
  if (!(action === 'cancel' || (action === 'requeue' && running.length > 0))) {
    return true;
  }
  if (action === 'cancel' && running.length === 0 && jobs.length === 1) {
    return true; // it has not begun: queueing it again costs nothing
  }
  const first = jobs[0];
  const what =
    jobs.length === 1 && first !== undefined
      ? texts.__('%1 (job %2)', tidy(first.name, 60), first.id)
      : texts._n('%1 job', '%1 jobs', jobs.length);
  const body =
    running.length > 0
      ? texts._n(
          '%1 of them is running; what it has not saved is lost.',
          '%1 of them are running; what they have not saved is lost.',
          running.length
        )
      : texts.__('They have not started yet.');
  const answer = await showDialog({
    title:
      action === 'cancel'
        ? texts.__('Cancel %1?', what)
        : texts.__('Stop and queue again %1?', what),
    body:
      jobs.length === 1
        ? texts.__('It is running; what it has not saved is lost.')
        : body,
    buttons: [
      Dialog.cancelButton({ label: texts.__('Keep') }),
      Dialog.warnButton({
        label:
          action === 'cancel' ? texts.__('Cancel Job') : texts.__('Queue Again')
      })
    ]
  });
  return answer.button.accept;
}
