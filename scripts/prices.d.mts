/** The price list: dollars by canonical name, in the form of MODEL_PRICES_FILE. Throws when an own entry is not needed. */
export function listedPrices(): Record<string, object>;
