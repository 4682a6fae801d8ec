// Stands in for style sheets and icons, which a bundler would load.
module.exports = '<svg></svg>';
