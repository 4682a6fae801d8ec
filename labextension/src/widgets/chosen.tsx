/** What can be done with several chosen jobs at once: only what is possible for one of them at least. */

import * as React from 'react';

import { CommandIDs } from '../ids';
import type { JobsModel } from '../model/jobs';
import type { SidebarModel } from '../model/sidebar';
import { type Action, isHolding, isPossible } from '../model/states';
import { useLab } from './context';

export function Chosen(props: {
  model: JobsModel;
  sidebar: SidebarModel;
}): React.JSX.Element | null {
  const { texts, execute } = useLab();
  const { model, sidebar } = props;
  const jobs = sidebar.chosen.flatMap(id => model.job(id) ?? []);
  if (jobs.length < 2) {
    return null;
  }
  const again = jobs.some(isHolding)
    ? texts.__('Requeue')
    : texts.__('Queue again');
  const actions: readonly (readonly [Action, string, string])[] = [
    ['cancel', texts.__('Cancel'), CommandIDs.cancel],
    ['hold', texts.__('Hold'), CommandIDs.hold],
    ['release', texts.__('Release'), CommandIDs.release],
    ['front', texts.__('To the front'), CommandIDs.front],
    ['requeue', again, CommandIDs.requeue]
  ];
  const button = (label: string, command: string): React.JSX.Element => (
    <button
      key={command}
      type="button"
      className="jp-jupysched-button"
      onClick={() => {
        execute(command);
      }}
    >
      {label}
    </button>
  );
  return (
    <div
      className="jp-jupysched-chosen"
      role="toolbar"
      aria-label={texts.__('Chosen jobs')}
    >
      <span className="jp-jupysched-soft">
        {texts._n('%1 chosen', '%1 chosen', jobs.length)}
      </span>
      {actions
        .filter(([action]) => jobs.some(job => isPossible(action, job)))
        .map(([, label, command]) => button(label, command))}
      {jobs.some(job => job.mine && job.attempt > 0) &&
        button(texts.__('Compare loss'), CommandIDs.openLoss)}
    </div>
  );
}
