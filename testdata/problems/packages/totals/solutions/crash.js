throw new Error("totals");
