import type { Settings } from './settings.ts';

/** The addresses to which a process exports its spans and metrics. A signal without an address is not exported. */
export interface Signals {
  traces?: string;
  metrics?: string;
}

type Addresses = Pick<
  Settings,
  'OTEL_EXPORTER_OTLP_ENDPOINT' | 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT' | 'OTEL_EXPORTER_OTLP_METRICS_ENDPOINT'
>;

const LOGS = /^OTEL_(?:EXPORTER_OTLP_LOGS_|LOGS_EXPORTER$|BLRP_)/;
const EXPORTER = /^OTEL_(?:EXPORTER_OTLP_|TRACES_EXPORTER$|METRICS_EXPORTER$)/;

/**
 * The address for each signal: its own endpoint, or else the common one. A signal has no address if both are unset, if its
 * `OTEL_…_EXPORTER` is `none`, or if `OTEL_SDK_DISABLED` is true. `env` holds these variables of the OpenTelemetry SDK. Pure.
 */
export function signalsOf(settings: Addresses, env: Readonly<Record<string, string | undefined>>): Signals {
  const both = settings.OTEL_EXPORTER_OTLP_ENDPOINT;
  const traces = settings.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? both;
  const metrics = settings.OTEL_EXPORTER_OTLP_METRICS_ENDPOINT ?? both;
  const isOn = (exporter: string | undefined): boolean => exporter?.trim().toLowerCase() !== 'none';
  if (env.OTEL_SDK_DISABLED?.trim().toLowerCase() === 'true') return {};
  return {
    ...(traces !== undefined && isOn(env.OTEL_TRACES_EXPORTER) && { traces }),
    ...(metrics !== undefined && isOn(env.OTEL_METRICS_EXPORTER) && { metrics }),
  };
}

/** Warns of exporter settings that have no effect. `set`: all settings that are not empty. Pure. */
export function unusedExporterSettings(set: Readonly<Record<string, unknown>>): string[] {
  const names = Object.keys(set).filter((name) => EXPORTER.test(name));
  const hasEndpoint = names.some((name) => /^OTEL_EXPORTER_OTLP_(?:TRACES_|METRICS_)?ENDPOINT$/.test(name));
  const logs = Object.keys(set).filter((name) => LOGS.test(name) && set[name] !== 'none');
  const unused = hasEndpoint ? [] : names.filter((name) => !LOGS.test(name) && set[name] !== 'none');
  return [
    ...(logs.length === 0 ? [] : [`${logs.join(', ')}: logs are not exported, they are on standard error`]),
    ...(unused.length === 0 ? [] : [`${unused.join(', ')}: nothing is exported without OTEL_EXPORTER_OTLP_ENDPOINT`]),
  ];
}
