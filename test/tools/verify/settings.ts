import { shorterSettings } from './shorter.ts';

/** Where each part of the stack listens, on loopback. */
export interface Ports {
  otlpGrpc: number;
  otlpHttp: number;
  metrics: number;
  collector: number;
  prometheus: number;
  jaegerOtlp: number;
  jaegerQuery: number;
  jaegerGrpc: number;
  alertmanager: number;
}

/** What the collector does by itself where its file is silent, and what must be shorter, too. */
const RETRYING = ['retry_on_failure:', '  max_interval: 30s', '  max_elapsed_time: 300s'];
/** Without it, the collector shows what a dead process said for five minutes. */
const DROPS_SERIES = 'metric_expiration';

/** The collector's file: other addresses and shorter times, those of sending to Jaeger included. Pure. */
export function collectorSettings(yaml: string, ports: Ports): string {
  if (!yaml.includes(DROPS_SERIES)) throw new Error(`the collector's file does not state ${DROPS_SERIES}`);
  const retrying = yaml.replace(/^( +)endpoint: jaeger:4317$/m, (line, indent: string) =>
    [line, ...RETRYING.map((each) => `${indent}${each}`)].join('\n'),
  );
  return shorterSettings(retrying)
    .replace('jaeger:4317', `127.0.0.1:${ports.jaegerOtlp}`)
    .replace('0.0.0.0:4317', `127.0.0.1:${ports.otlpGrpc}`)
    .replace('0.0.0.0:4318', `127.0.0.1:${ports.otlpHttp}`)
    .replace('0.0.0.0:8889', `127.0.0.1:${ports.metrics}`)
    .replace('host: 0.0.0.0', 'host: 127.0.0.1')
    .replace('port: 8888', `port: ${ports.collector}`);
}

/** Prometheus' file: other addresses, shorter intervals. Pure. */
export function prometheusSettings(yaml: string, ports: Ports): string {
  return shorterSettings(yaml)
    .replace('collector:8889', `127.0.0.1:${ports.metrics}`)
    .replace('collector:8888', `127.0.0.1:${ports.collector}`)
    .replace('alertmanager:9093', `127.0.0.1:${ports.alertmanager}`);
}

/** Jaeger's file: other addresses and folders. Pure. */
export function jaegerSettings(yaml: string, ports: Ports, folder: string): string {
  return yaml
    .replace('0.0.0.0:16686', `127.0.0.1:${ports.jaegerQuery}`)
    .replace('127.0.0.1:16685', `127.0.0.1:${ports.jaegerGrpc}`)
    .replace('0.0.0.0:4317', `127.0.0.1:${ports.jaegerOtlp}`)
    .replaceAll('/tmp/jaeger', folder);
}

/** Alertmanager's file: shorter waits, and its receiver is the one that is listened at. Pure. */
export function alertmanagerSettings(yaml: string, hookUrl: string): string {
  const receiver = `webhook_configs: [{url: "${hookUrl}", send_resolved: true}]`;
  return shorterSettings(yaml).replace(/^( +)- name: operator$/m, (line, indent: string) => {
    return `${line}\n${indent}  ${receiver}`;
  });
}
