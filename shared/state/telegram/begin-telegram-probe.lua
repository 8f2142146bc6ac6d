-- Takes the lease of the one probe of the installation.
-- KEYS  1 telegram
-- ARGV  1 owner   2 how long the lease lasts, ms: whoever was killed with it is then replaced
-- Reply 1: it is ours | 0: another probe runs, or has just ended
-- include: time, telegram
local now = now_ms()
local held = redis.call('HMGET', KEYS[1], 'prober', 'proberUntilMs')
if held[1] and held[1] ~= ARGV[1] and left_ms(held[2], now) > 0 or telegram_was_asked(KEYS[1], now) then
  return 0
end
redis.call('HSET', KEYS[1], 'prober', ARGV[1], 'proberUntilMs', now + tonumber(ARGV[2]))
return 1
