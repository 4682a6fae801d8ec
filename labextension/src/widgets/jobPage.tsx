/** One job in the main area: how it stands, and the tabs of its log and its details. */

import { ReactWidget, UseSignal } from '@jupyterlab/ui-components';
import * as React from 'react';

import { stateWord, story, timing } from '../model/format';
import type { JobsModel } from '../model/jobs';
import { isHolding } from '../model/states';
import { tidy } from '../model/text';
import { type ILab, LabProvider, useLab, useNow } from './context';
import { JobDetail } from './jobDetail';
import { Mark } from './jobRow';
import { LogView } from './logView';

export type Tab = 'log' | 'detail';

export class JobPage extends ReactWidget {
  constructor(
    private readonly _options: {
      model: JobsModel;
      lab: ILab;
      job: number;
      tab: Tab;
    }
  ) {
    super();
    this._tab = _options.tab;
    this.addClass('jp-jupysched-page');
  }

  /** Turn to a tab. */
  show_(tab: Tab): void {
    this._tab = tab;
    this.update();
  }

  protected override render(): React.JSX.Element {
    const { model, lab, job } = this._options;
    return (
      <LabProvider value={lab}>
        <UseSignal signal={model.changed}>
          {() => (
            <Page
              model={model}
              id={job}
              tab={this._tab}
              onTab={tab => {
                this.show_(tab);
              }}
            />
          )}
        </UseSignal>
      </LabProvider>
    );
  }

  private _tab: Tab;
}

function Page(props: {
  model: JobsModel;
  id: number;
  tab: Tab;
  onTab: (tab: Tab) => void;
}): React.JSX.Element {
  const { texts } = useLab();
  const { model, id, tab } = props;
  const job = model.job(id);
  const now = useNow(job !== undefined && isHolding(job));
  if (job === undefined) {
    return (
      <p className="jp-jupysched-note" role="status">
        {model.view.isKnown
          ? texts.__('The queue knows no job %1 any more.', id)
          : texts.__('Waiting for the Jupyter server …')}
      </p>
    );
  }
  const name = (which: Tab): string => `jp-jupysched-${id}-${which}`;
  const tabs: readonly (readonly [Tab, string])[] = [
    ['log', texts.__('Log')],
    ['detail', texts.__('Details')]
  ];
  return (
    <>
      <header className="jp-jupysched-page-head">
        <Mark state={job.state} />
        <h2>
          <bdi>{tidy(job.name, 120)}</bdi>
        </h2>
        <span className="jp-jupysched-pill">{stateWord(job, texts)}</span>
        <span className="jp-jupysched-soft">{timing(job, now, texts)}</span>
        <bdi className="jp-jupysched-soft jp-jupysched-grow">
          {story(job, model.view.losses.get(id), texts)}
        </bdi>
      </header>
      <div
        role="tablist"
        className="jp-jupysched-tabs"
        onKeyDown={event => {
          if (event.key === 'ArrowLeft' || event.key === 'ArrowRight') {
            const other = tab === 'log' ? 'detail' : 'log';
            props.onTab(other);
            document.getElementById(`${name(other)}-tab`)?.focus();
          }
        }}
      >
        {tabs.map(([which, label]) => (
          <button
            key={which}
            type="button"
            role="tab"
            id={`${name(which)}-tab`}
            aria-selected={which === tab}
            aria-controls={name(which)}
            tabIndex={which === tab ? 0 : -1}
            onClick={() => {
              props.onTab(which);
            }}
          >
            {label}
          </button>
        ))}
      </div>
      <div
        role="tabpanel"
        id={name(tab)}
        aria-labelledby={`${name(tab)}-tab`}
        className="jp-jupysched-tabpanel"
      >
        {tab === 'detail' ? (
          <JobDetail model={model} job={job} />
        ) : job.attempt > 0 && job.mine ? (
          <LogView
            key={job.attempt}
            model={model}
            job={job}
            attempt={job.attempt}
          />
        ) : (
          <p className="jp-jupysched-note">
            {job.mine
              ? texts.__('It has not started yet.')
              : texts.__('What it prints is for %1 alone.', job.user)}
          </p>
        )}
      </div>
    </>
  );
}
