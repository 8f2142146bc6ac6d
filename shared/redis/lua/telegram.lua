-- The shortest wait that callers get while Telegram does not answer. A running or due probe is likely to end within this time.
local PROBE_SOON_MS = 250
-- No pause is longer than this. If more time than this remains, the clock has stepped back since the pause began.
local PAUSE_MS_MAX = 60000

-- The ms until a time, such as the end of a pause: 0 or less after that time, and 0 if the clock has stepped back.
local function remaining_ms(until_ms, now)
  local remaining = tonumber(until_ms or 0) - now
  return remaining <= PAUSE_MS_MAX and remaining or 0
end

-- The state of Telegram: {ms since the epoch, ms for which nothing may be sent or 0, ms since the epoch at which Telegram went
-- away or 0, ms since the epoch of its last noted answer or 0}.
local function telegram_state(key, now)
  local fields = redis.call('HMGET', key, 'awaySinceMs', 'untilMs', 'answeredMs')
  local away = fields[1] and math.max(PROBE_SOON_MS, remaining_ms(fields[2], now)) or 0
  return { now, away, tonumber(fields[1] or 0), tonumber(fields[3] or 0) }
end

-- Opens the breaker, or leaves it open after a failed probe. Each further call in a row doubles the pause, up to `pause_max`.
local function telegram_away(key, now, why, pause, pause_max)
  local times = redis.call('HINCRBY', key, 'found', 1)
  local until_ms = now + math.min(tonumber(pause) * 2 ^ (times - 1), tonumber(pause_max))
  redis.call('HSETNX', key, 'awaySinceMs', now)
  redis.call('HSET', key, 'untilMs', string.format('%.0f', until_ms), 'why', why)
end

-- Closes the breaker.
local function telegram_back(key)
  redis.call('HDEL', key, 'awaySinceMs', 'untilMs', 'why')
end

-- Whether it is too early for a probe: the breaker is open, and the pause before the next probe is not nearly over.
local function is_pause_running(key, now)
  local fields = redis.call('HMGET', key, 'awaySinceMs', 'untilMs')
  return fields[1] and remaining_ms(fields[2], now) > PROBE_SOON_MS
end
