-- Books a call of a model or a transcriber: adds a line to the audit trail and its cost to its chat's day. A call that is
-- sent again because its reply was lost books nothing twice.
-- KEYS  1 mark of the booked call   2 events   3 usage of the chat's day; absent if no chat pays
-- ARGV  1 life of the mark, in seconds   2 event   3 its record (JSON)   4 life of the day, in seconds   5 field of a
--       person's name, or ''   6 the name   then field, whole amount to add, …
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
