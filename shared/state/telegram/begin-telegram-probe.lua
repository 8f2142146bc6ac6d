-- Takes the lease to probe Telegram. Only one process of the installation has the lease at a time.
-- KEYS  1 telegram
-- ARGV  1 owner   2 ms that the lease lasts, so that another process can take over from a killed owner
-- Reply 1, or 0 if another process probes or the pause after the last probe still runs
-- include: time, telegram
local now = now_ms()
local lease = redis.call('HMGET', KEYS[1], 'prober', 'proberUntilMs')
if lease[1] and lease[1] ~= ARGV[1] and remaining_ms(lease[2], now) > 0 or is_pause_running(KEYS[1], now) then
  return 0
end
redis.call('HSET', KEYS[1], 'prober', ARGV[1], 'proberUntilMs', now + tonumber(ARGV[2]))
return 1
