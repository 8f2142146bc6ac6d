-- Puts a message on the stream and returns its entry. Count it first: see counts.lua.
local function add_message(inbound, chat, message, traceparent, cancels)
  local fields = { 'chat', chat, 'message', message, 'traceparent', traceparent }
  if cancels ~= '' then
    fields[7], fields[8] = 'cancels', cancels
  end
  return redis.call('XADD', inbound, '*', unpack(fields))
end
