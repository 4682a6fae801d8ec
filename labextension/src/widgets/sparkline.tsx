/** A small line. Gaps stay gaps. Tells nothing that is not also said in words, so it is hidden from screen readers. */

import * as React from 'react';

export interface ISparklineProps {
  values: readonly (number | null)[];
  width: number;
  height: number;
  /** the range; without it, from the least to the greatest value */
  least?: number;
  most?: number;
  isFilled?: boolean;
}

export function Sparkline(props: ISparklineProps): React.JSX.Element | null {
  const { values, width, height } = props;
  const known = values.filter((v): v is number => v !== null);
  if (known.length < 2) {
    return null;
  }
  const least = props.least ?? Math.min(...known);
  const most = props.most ?? Math.max(...known);
  const spread = most - least || 1;
  const x = (i: number): number => (i * width) / (values.length - 1);
  const y = (v: number): number =>
    1 + (height - 2) * (1 - (v - least) / spread);
  const stretches: string[][] = [[]];
  values.forEach((value, i) => {
    if (value === null) {
      stretches.push([]);
    } else {
      stretches.at(-1)?.push(`${x(i).toFixed(1)},${y(value).toFixed(1)}`);
    }
  });
  return (
    <svg
      className="jp-jupysched-spark"
      width={width}
      height={height}
      viewBox={`0 0 ${width} ${height}`}
      preserveAspectRatio="none"
      aria-hidden="true"
      focusable="false"
    >
      {stretches
        .filter(points => points.length > 1)
        .map(points => (
          <React.Fragment key={points[0]}>
            {props.isFilled === true && (
              <polygon
                points={`${points[0]?.split(',')[0] ?? 0},${height} ${points.join(' ')} ${points.at(-1)?.split(',')[0] ?? 0},${height}`}
              />
            )}
            <polyline points={points.join(' ')} />
          </React.Fragment>
        ))}
    </svg>
  );
}
