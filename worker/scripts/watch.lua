-- Opens an incident, tells of it again, or closes it. All workers check; one of them tells.
-- An incident that opens again within the time between two tellings is told of only when it lasts: one that comes and
-- goes must not use up the operator's attention.
-- KEYS  1 watch   2 alerts
-- ARGV  1 'open' | 'close'   2 incident   3 now, ms   4 alert (JSON) to queue, or '' when it is not queued
--       5 ms between two tellings   6 ms after which a recurring one is told of   7 when it was opened, as read (close)
-- Reply 'told': an opening or a repetition; 'resolved': the end of what was told; 'quiet': nothing is to be told
local now = tonumber(ARGV[3])
local opened = tonumber(redis.call('HGET', KEYS[1], ARGV[2]))
local told = tonumber(redis.call('HGET', KEYS[1], 'told:' .. ARGV[2]) or 0)

local function queue()
  if ARGV[4] ~= '' then
    redis.call('XADD', KEYS[2], 'MAXLEN', '~', 10000, '*', 'alert', ARGV[4])
  end
end

if ARGV[1] == 'close' then
  if opened ~= tonumber(ARGV[7]) then
    return 'quiet'
  end
  redis.call('HDEL', KEYS[1], ARGV[2])
  if told < opened then
    return 'quiet'
  end
  queue()
  return 'resolved'
end

if not opened then
  opened = now
  redis.call('HSET', KEYS[1], ARGV[2], ARGV[3])
end
local isFirst = told < opened
if now - told < tonumber(ARGV[5]) and not (isFirst and now - opened >= tonumber(ARGV[6])) then
  return 'quiet'
end
redis.call('HSET', KEYS[1], 'told:' .. ARGV[2], ARGV[3])
queue()
return 'told'
