-- Books a call to a model or a transcriber: a line of the audit trail, and the sums of its chat's day. Once: a reply can be
-- lost, and the command is then repeated.
-- KEYS  1 that it is booked   2 events   3 usage of the chat's day; absent where no chat pays
-- ARGV  1 seconds to remember that it is booked   2 event   3 its record (JSON)   4 seconds to keep the day   5 field of a
--       person's name, or ''   6 the name   7 on: field, whole amount to add, …
-- Reply 1 when it is booked, 0 when it was before
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
