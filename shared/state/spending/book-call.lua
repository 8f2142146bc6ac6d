-- Books a call of a model or a transcriber: adds an event to the audit trail and the cost to the sums of the chat's day. If
-- ioredis sends this request again because the reply was lost, nothing is booked twice.
-- KEYS  1 key that marks the call as booked   2 events   3 usage of the chat's day; absent if no chat pays
-- ARGV  1 seconds to store KEYS 1   2 event   3 the event's record (JSON)   4 seconds to store KEYS 3
--       5 field for a person's name, or ''   6 the name   then field, whole amount to add, …
-- Reply 1, or 0 if the call was booked before
if not redis.call('SET', KEYS[1], 1, 'NX', 'EX', ARGV[1]) then
  return 0
end
redis.call('XADD', KEYS[2], '*', 'event', ARGV[2], 'record', ARGV[3])
if KEYS[3] then
  for i = 7, #ARGV, 2 do
    redis.call('HINCRBY', KEYS[3], ARGV[i], ARGV[i + 1])
  end
  if ARGV[5] ~= '' then
    redis.call('HSET', KEYS[3], ARGV[5], ARGV[6])
  end
  redis.call('EXPIRE', KEYS[3], ARGV[4])
end
return 1
