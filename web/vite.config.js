import { defineConfig } from "vite";

// Three files with fixed names, which the program has within itself.
export default defineConfig({
  base: "./",
  build: {
    target: "es2022",
    cssCodeSplit: false,
    modulePreload: false,
    assetsInlineLimit: 0,
    rollupOptions: {
      output: { entryFileNames: "dashboard.js", assetFileNames: "dashboard.[ext]" },
    },
  },
});
