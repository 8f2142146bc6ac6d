-- Takes the lease to probe Telegram, which one process of the installation has at a time.
-- KEYS  1 telegram
-- ARGV  1 owner   2 ms that the lease lasts, so that another process follows a killed owner
-- Reply 1, or 0 if another probe runs or has just ended
-- include: time, telegram
local now = now_ms()
local lease = redis.call('HMGET', KEYS[1], 'prober', 'proberUntilMs')
if lease[1] and lease[1] ~= ARGV[1] and remaining_ms(lease[2], now) > 0 or is_pause_running(KEYS[1], now) then
  return 0
end
redis.call('HSET', KEYS[1], 'prober', ARGV[1], 'proberUntilMs', now + tonumber(ARGV[2]))
return 1
