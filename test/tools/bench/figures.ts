import { chats } from './chats.ts';
import { felt } from './felt.ts';
import type { Measure } from './figure.ts';
import { flat } from './flat.ts';
import { latency } from './latency.ts';
import { memory } from './memory.ts';
import { processes } from './processes.ts';
import { recall } from './recall.ts';
import { roundTrips } from './round-trips.ts';
import { stageTwo } from './stage-two.ts';
import { starting, takeover } from './start.ts';
import { startingBuilt } from './start-built.ts';
import { throughput } from './throughput.ts';
import { cluster, sideBySide, telemetry, wire } from './wire.ts';
import { year } from './year.ts';

/** Everything that the bench measures, in the order of its table. */
export const MEASURES: readonly Measure[] = [
  throughput,
  latency,
  felt,
  roundTrips,
  stageTwo,
  recall,
  flat,
  year,
  wire,
  sideBySide,
  telemetry,
  processes,
  cluster,
  chats,
  starting,
  startingBuilt,
  takeover,
  memory,
];
