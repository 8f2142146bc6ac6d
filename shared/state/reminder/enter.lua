-- Puts a due reminder on the stream as a message of its chat and, in the same step, sets the reminder's next due time. Without
-- a next due time, removes the reminder. Does nothing if the reminder is gone, or if its due time has changed since the caller
-- read it. So a due time becomes one message at most, even if several processes call this, or one process repeats the call.
-- KEYS  1 reminders   2 reminders of the chat   3 inbound   4 counts
-- ARGV  1 member of the sorted set   2 id   3 due time that the caller read   4 next due time in ms, or '' for none
--       5 chat   6 message, or '' to only change the due time   7 traceparent
--       8 field with the last entry of a repeated reminder; while that entry is unanswered, the script adds no further entry
-- Reply the new entry, or '' if the script added none
-- include: counts
local due = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not due or tonumber(due) ~= tonumber(ARGV[3]) or redis.call('HEXISTS', KEYS[2], ARGV[2]) == 0 then
  return ''
end
local entry = ''
local last = redis.call('HGET', KEYS[2], ARGV[8])
if ARGV[6] ~= '' and not (last and redis.call('XRANGE', KEYS[3], last, last)[1]) then
  count(KEYS[4], KEYS[3], 'accepted')
  entry = redis.call(
    'XADD', KEYS[3], '*', 'chat', ARGV[5], 'message', ARGV[6], 'traceparent', ARGV[7], 'reminder', ARGV[2]
  )
end
if ARGV[4] == '' then
  redis.call('ZREM', KEYS[1], ARGV[1])
  redis.call('HDEL', KEYS[2], ARGV[2], ARGV[8])
else
  if entry ~= '' then
    redis.call('HSET', KEYS[2], ARGV[8], entry)
  end
  redis.call('ZADD', KEYS[1], ARGV[4], ARGV[1])
end
return entry
