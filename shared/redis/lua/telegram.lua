-- While Telegram is away nobody asks again before the next probe; one that runs, or is due, ends soon.
local PROBE_SOON_MS = 250
-- No pause lasts for as long: the clock has stepped back since it was set.
local PAUSE_MS_MAX = 60000

-- How long something still lasts.
local function left_ms(until_ms, now)
  local left = tonumber(until_ms or 0) - now
  return left <= PAUSE_MS_MAX and left or 0
end

-- What is known of Telegram: {ms since the epoch, ms until it may be sent something (0: now), away since (0: it is not),
-- last word of any kind (0: never)}.
local function telegram_state(key, now)
  local known = redis.call('HMGET', key, 'awaySinceMs', 'untilMs', 'answeredMs')
  local away = known[1] and math.max(PROBE_SOON_MS, left_ms(known[2], now)) or 0
  return { now, away, tonumber(known[1] or 0), tonumber(known[3] or 0) }
end

-- Telegram is away: each time in a row that this is found, the pause before the next probe doubles.
local function telegram_away(key, now, why, pause, pause_max)
  local found = redis.call('HINCRBY', key, 'found', 1)
  local until_ms = now + math.min(tonumber(pause) * 2 ^ (found - 1), tonumber(pause_max))
  redis.call('HSETNX', key, 'awaySinceMs', now)
  redis.call('HSET', key, 'untilMs', string.format('%.0f', until_ms), 'why', why)
end

-- Telegram is there.
local function telegram_back(key)
  redis.call('HDEL', key, 'awaySinceMs', 'untilMs', 'why')
end

-- Whether it is too early for a probe: another process has just made one.
local function telegram_was_asked(key, now)
  local known = redis.call('HMGET', key, 'awaySinceMs', 'untilMs')
  return known[1] and left_ms(known[2], now) > PROBE_SOON_MS
end
