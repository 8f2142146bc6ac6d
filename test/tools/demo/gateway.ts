import { type GatewayProcess, spawnRunning } from '../../fixture/process.ts';
import type { Stage } from './stage.ts';

/** Starts the real gateway as a process of its own, the way `npm start` does, pointed at the stage. */
export function startDemoGateway(stage: Stage, redisAddress: string, blobUrl: string): Promise<GatewayProcess> {
  return spawnRunning('spillway.ts', {
    TELEGRAM_BOT_TOKEN: stage.telegram.token,
    TELEGRAM_API_ROOT: stage.telegram.url,
    TELEGRAM_ALLOWED_IDS: String(stage.chat),
    TELEGRAM_ALERT_CHAT_ID: String(stage.operator),
    ANTHROPIC_API_KEY: 'stand-in',
    ANTHROPIC_BASE_URL: stage.claude.url,
    REDIS_URL: redisAddress,
    BLOB_URL: blobUrl,
    HTTP_PORT: '0',
    OTEL_EXPORTER_OTLP_ENDPOINT: stage.otlp.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_BSP_SCHEDULE_DELAY: '100',
  });
}
