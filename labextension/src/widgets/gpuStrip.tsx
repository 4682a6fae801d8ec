/** One small card a GPU: utilization and memory, a minute of it, and who has it. */

import * as React from 'react';

import type { GpuRecord, JobRecord } from '../api/schema';
import { gpuWord, holder, type ITexts, size } from '../model/format';
import type { JobsModel } from '../model/jobs';
import { tidy } from '../model/text';
import { useLab } from './context';
import { Sparkline } from './sparkline';

export interface IGpuStripProps {
  model: JobsModel;
  onChoose: (job: number) => void;
}

export function GpuStrip(props: IGpuStripProps): React.JSX.Element | null {
  const { texts } = useLab();
  const { view } = props.model;
  if (view.gpus.length === 0) {
    return null;
  }
  const nodes = [...new Set(view.gpus.map(gpu => gpu.node))];
  const isSlots = view.gpus.every(gpu => gpu.kind === 'cpu_slot');
  return (
    <section aria-label={isSlots ? texts.__('CPU slots') : texts.__('GPUs')}>
      {isSlots && (
        <p className="jp-jupysched-note">
          {texts.__('CPU slots stand in for GPUs on this machine.')}
        </p>
      )}
      {nodes.map(node => (
        <React.Fragment key={node}>
          {nodes.length > 1 && (
            <h3 className="jp-jupysched-node">{tidy(node, 60)}</h3>
          )}
          <ul className="jp-jupysched-gpus">
            {view.gpus
              .filter(gpu => gpu.node === node)
              .map(gpu => (
                <GpuCard
                  key={gpu.id}
                  gpu={gpu}
                  jobs={view.jobs}
                  me={view.me}
                  readings={props.model.readings(gpu.id)}
                  onChoose={props.onChoose}
                />
              ))}
          </ul>
        </React.Fragment>
      ))}
    </section>
  );
}

interface IGpuCardProps {
  gpu: GpuRecord;
  jobs: ReadonlyMap<number, JobRecord>;
  me: string;
  readings: readonly (number | null)[];
  onChoose: (job: number) => void;
}

const GpuCard = (props: IGpuCardProps): React.JSX.Element => {
  const { texts } = useLab();
  const { gpu, jobs, me } = props;
  const who = holder(gpu, jobs, me, texts);
  const word = gpuWord(gpu, texts);
  const isMine = gpu.jobs.some(id => jobs.get(id)?.user === me);
  const isOut = gpu.drained !== '';
  const detail = details(gpu, texts);
  const first = gpu.jobs[0];
  const only = gpu.jobs.length === 1 ? jobs.get(first ?? 0) : undefined;
  // There is little room, and the frame says already that it is one's own.
  const brief = isMine && only !== undefined ? tidy(only.name, 60) : who;
  return (
    <li>
      <button
        type="button"
        className={[
          'jp-jupysched-gpu',
          isMine ? 'jp-mod-mine' : '',
          isOut ? 'jp-mod-out' : '',
          gpu.jobs.length === 0 && !isOut && gpu.foreign.length === 0
            ? 'jp-mod-free'
            : ''
        ].join(' ')}
        title={[`${gpu.label} (${tidy(gpu.name, 80)})`, word, who, ...detail]
          .filter(Boolean)
          .join('\n')}
        aria-label={[gpu.label, word, who, ...detail]
          .filter(Boolean)
          .join(', ')}
        onClick={() => {
          if (first !== undefined) {
            props.onChoose(first);
          }
        }}
      >
        <span className="jp-jupysched-gpu-top">
          <b>{gpu.kind === 'mig' ? `M${gpu.index}` : gpu.index}</b>
          <span>{word}</span>
        </span>
        {gpu.kind !== 'cpu_slot' && (
          <>
            <Bar
              value={gpu.utilization_percent}
              most={100}
              kind="jp-mod-busy"
            />
            <Bar
              value={gpu.memory_used_bytes}
              most={gpu.memory_total_bytes}
              kind="jp-mod-memory"
            />
            <Sparkline
              values={props.readings}
              width={60}
              height={14}
              least={0}
              most={100}
              isFilled
            />
          </>
        )}
        <bdi className="jp-jupysched-gpu-who">{brief || '\u00a0'}</bdi>
      </button>
    </li>
  );
};

const Bar = (props: {
  value: number | null;
  most: number | null;
  kind: string;
}): React.JSX.Element => {
  const part =
    props.value === null || !props.most
      ? 0
      : Math.min(1, props.value / props.most);
  return (
    <span className={`jp-jupysched-bar ${props.kind}`} aria-hidden="true">
      <i style={{ width: `${(part * 100).toFixed(1)}%` }} />
    </span>
  );
};

/** What there is to tell beside who and how busy; n/a only for what a GPU should tell and does not. */
function details(gpu: GpuRecord, texts: ITexts): string[] {
  if (gpu.kind === 'cpu_slot') {
    return [];
  }
  const used = gpu.memory_used_bytes;
  const total = gpu.memory_total_bytes;
  return [
    used === null || total === null
      ? texts.__('memory n/a')
      : texts.__('%1 of %2 memory', size(used), size(total)),
    gpu.utilization_percent === null ? texts.__('utilization n/a') : '',
    gpu.temperature_c === null ? '' : `${gpu.temperature_c} °C`,
    gpu.power_w === null
      ? ''
      : gpu.power_limit_w === null
        ? `${gpu.power_w.toFixed(0)} W`
        : texts.__(
            '%1 of %2 W',
            gpu.power_w.toFixed(0),
            gpu.power_limit_w.toFixed(0)
          ),
    tidyOrNothing(gpu.group),
    ...gpu.foreign.map(line => texts.__('outside jupysched: %1', tidy(line)))
  ].filter(Boolean);
}

const tidyOrNothing = (text: string): string =>
  text === '' ? '' : tidy(text, 80);
