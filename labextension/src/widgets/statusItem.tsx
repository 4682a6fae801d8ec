/** In the status bar: GPU 3/8 · 2 running · 5 waiting, yours next ~14:05. */

import { TextItem } from '@jupyterlab/statusbar';
import { ReactWidget, UseSignal } from '@jupyterlab/ui-components';
import * as React from 'react';

import { CommandIDs } from '../ids';
import { clock, type ITexts, ordinal } from '../model/format';
import type { IView } from '../model/fold';
import type { JobsModel } from '../model/jobs';
import { isOwn } from '../model/list';
import { isHolding } from '../model/states';
import { type ILab, LabProvider, useLab } from './context';

export class StatusItem extends ReactWidget {
  constructor(private readonly _options: { model: JobsModel; lab: ILab }) {
    super();
    this.addClass('jp-jupysched-status');
  }

  protected override render(): React.JSX.Element {
    const { model, lab } = this._options;
    return (
      <LabProvider value={lab}>
        <UseSignal signal={model.changed}>
          {() => <Item model={model} />}
        </UseSignal>
      </LabProvider>
    );
  }
}

function Item(props: { model: JobsModel }): React.JSX.Element | null {
  const { texts, execute } = useLab();
  const { view, isConnected } = props.model;
  const said = statusWords(view, isConnected, texts);
  if (said === '') {
    return null;
  }
  const open = (): void => {
    execute(CommandIDs.showSidebar);
  };
  return (
    <TextItem
      source={said}
      title={texts.__('Show the GPU queue')}
      role="button"
      tabIndex={0}
      onClick={open}
      onKeyDown={event => {
        if (event.key === 'Enter' || event.key === ' ') {
          event.preventDefault();
          open();
        }
      }}
    />
  );
}

/** The status bar's words. */
export function statusWords(
  view: IView,
  isConnected: boolean,
  texts: ITexts
): string {
  if (!view.isKnown) {
    return '';
  }
  if (!isConnected || view.down !== '') {
    return texts.__('GPU queue away');
  }
  const jobs = [...view.jobs.values()];
  const running = jobs.filter(isHolding).length;
  const waiting = jobs.filter(job => job.state === 'pending');
  const busy = view.gpus.filter(gpu => gpu.jobs.length > 0).length;
  const isSlots =
    view.gpus.length > 0 && view.gpus.every(gpu => gpu.kind === 'cpu_slot');
  const parts = [
    `${isSlots ? texts.__('CPU slots') : 'GPU'} ${busy}/${view.gpus.length}`
  ];
  if (running > 0) {
    parts.push(texts.__('%1 running', running));
  }
  if (waiting.length > 0) {
    const next = waiting
      .filter(job => isOwn(job, view.me) && job.position !== null)
      .sort((a, b) => (a.position ?? 0) - (b.position ?? 0))[0];
    const start = next?.expected_start_at
      ? ` ~${clock(next.expected_start_at, new Date())}`
      : '';
    const place =
      next === undefined
        ? ''
        : next.position === 1
          ? texts.__(', yours next%1', start)
          : texts.__(', yours %1%2', ordinal(next.position ?? 0), start);
    parts.push(texts.__('%1 waiting', waiting.length) + place);
  }
  return parts.join(' · ');
}
